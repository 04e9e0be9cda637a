package mutant

// The mutations of copies (internal/wire/clone). The comparison of copies with those of
// DeepCopyInto has to notice them.
const (
	// CloneSharesPointer leaves every ninth pointer as it is.
	CloneSharesPointer Mutation = firstClone + iota
	// CloneSharesSlice leaves every ninth slice as it is.
	CloneSharesSlice
	// CloneSharesMap leaves every ninth map of texts as it is.
	CloneSharesMap
	// CloneSharesMapElements leaves every ninth slice in a map as it is.
	CloneSharesMapElements
	// CloneSharesUntyped leaves every ninth map of an unstructured object as it is.
	CloneSharesUntyped
	// CloneEmptyIsNil makes empty slices nil.
	CloneEmptyIsNil
	// CloneLeavesRoom lets a slice reach into the next one's memory.
	CloneLeavesRoom
	endClone
)

const firstClone Mutation = 6000

// Clone are the mutations of copies.
func Clone() []Mutation { return between(firstClone, endClone) }

func (m Mutation) cloneName() string {
	return [endClone - firstClone]string{
		"clone shares pointer", "clone shares slice", "clone shares map", "clone shares map elements",
		"clone shares untyped", "clone empty is nil", "clone leaves room",
	}[m-firstClone]
}
