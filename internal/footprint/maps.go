package footprint

const (
	mapHeader = 48
	// mapDirectory is that of a map of more than eight entries: a table in a directory.
	mapDirectory = 40
)

// MapBytes estimates the memory of a map made for n entries of the given size. A
// map stores its entries in groups of eight, each with eight bytes of control. A
// map of more than one group uses at most seven of each eight.
func MapBytes(n int, entry uintptr) int {
	group := 8 + 8*int(entry)
	switch {
	case n == 0:
		return mapHeader
	case n <= 8:
		return mapHeader + group
	}
	groups := 2
	for groups*7 < n {
		groups *= 2
	}
	return mapHeader + mapDirectory + groups*group
}
