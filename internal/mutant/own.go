package mutant

// The mutations of reads that include a program's own writes (internal/own,
// and what the root package does with it). The trials of own writes have to
// notice them: no other trial tells an informer of a write.
const (
	// EndlessWrite never regards a write as seen.
	EndlessWrite Mutation = firstOwn + iota
	// BelieveLateAnswers treats an answer as new although the watch has passed it,
	// or the object was deleted since.
	BelieveLateAnswers
	// RemovalHidesAll hides any object under the key of one that was deleted.
	RemovalHidesAll
	// EndEarly ends writes before the store shows the change that confirms them.
	EndEarly
	// LastToldWins treats the answer that was reported last as the newest.
	LastToldWins
	// ForgetOwnIndex leaves written objects out of indexes.
	ForgetOwnIndex
	// CountTwice counts an object that was written and is held twice.
	CountTwice
	// KeepEpoch keeps writes when the server begins a new epoch.
	KeepEpoch
	// EchoOfOthers treats every change of a written key as the program's own.
	EchoOfOthers
	// PassOtherScopes treats the version of one scope as that of another.
	PassOtherScopes
	endOwn
)

const firstOwn Mutation = 5000

// Own are the mutations of reads that include own writes.
func Own() []Mutation { return between(firstOwn, endOwn) }

func (m Mutation) ownName() string {
	return [endOwn - firstOwn]string{
		"endless write", "believe late answers", "removal hides all", "end early", "last told wins",
		"forget own index", "count twice", "keep epoch", "echo of others", "pass other scopes",
	}[m-firstOwn]
}
