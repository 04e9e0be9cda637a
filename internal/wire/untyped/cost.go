package untyped

// What Go allocates on a 64-bit machine, so that the table knows what it keeps
// alive. Nothing depends on its being exact.
const (
	sliceBytes = 24 // a slice's box
	anyBytes   = 16
	boxBytes   = 16 // a string's box
	wordBytes  = 8  // a number's box

	// A map is a header of 48 bytes and groups of eight members: 8 bytes of
	// control, 8 times 16+16; 264, in a size class of 288.
	mapBytes   = 48
	groupBytes = 288
	// More than eight members have a table (32 bytes) in a directory (8).
	tableBytes = 40
)

// mapCost is what a map made for n members takes.
func mapCost(n int) int {
	switch {
	case n == 0:
		return mapBytes
	case n <= 8:
		return mapBytes + groupBytes
	}
	// Seven of eight slots are used at most.
	slots := 16
	for slots*7/8 < n {
		slots *= 2
	}
	return mapBytes + tableBytes + slots/8*groupBytes
}
