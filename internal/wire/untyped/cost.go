package untyped

// What Go allocates on a 64-bit machine, so that the table knows what it keeps
// alive. Nothing depends on its being exact.
const (
	sliceBytes = 24 // a slice's box
	anyBytes   = 16
	wordBytes  = 8 // a number's box
)

// memberBytes is what a member of a map takes, its name and its value.
const memberBytes = 16 + 16
