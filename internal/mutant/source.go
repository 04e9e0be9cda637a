package mutant

// The mutations of the decoders' other half (source), which knows of lists,
// watches and kinds. The trials there have to notice them: a server in memory
// has neither the types nor the orders of members that show them.
const (
	// KindOfItsOwn finds an object's kind only in a TypeMeta that is a field of
	// its type, not in that of a base or in fields of these names.
	KindOfItsOwn Mutation = firstSource + iota
	// KindWithoutVersion treats a list's kind as known before its version was read.
	KindWithoutVersion
	// WriteHeldKind gives an object another kind, or none, while others read it.
	WriteHeldKind
	endSource
)

const firstSource Mutation = 2000

// Source are the mutations of package source.
func Source() []Mutation { return between(firstSource, endSource) }

func (m Mutation) sourceName() string {
	return [endSource - firstSource]string{"kind of its own", "kind without version", "write held kind"}[m-firstSource]
}
