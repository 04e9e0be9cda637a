package untyped

// Sizes of Go's allocations on a 64-bit machine, for the table's count of what it
// keeps alive. They need not be exact.
const (
	sliceBytes = 24 // a slice's box
	anyBytes   = 16
	wordBytes  = 8 // a number's box
)

// memberBytes is the size of a map's member, its name and its value.
const memberBytes = 16 + 16
