package scan

// Space returns where the white space that begins at b[at] ends, or at if there is
// none.
func Space(b []byte, at int) int {
	if at < len(b) && b[at] > ' ' {
		return at
	}
	return space(b, at)
}

func space(b []byte, at int) int {
	for ; at < len(b); at++ {
		switch b[at] {
		case ' ', '\n', '\t', '\r':
		default:
			return at
		}
	}
	return at
}
