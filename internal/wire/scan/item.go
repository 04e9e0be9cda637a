package scan

// Text returns the text of the string at b[at] and where it ends, or -1 for a string
// that encoding/json refuses. A text with an escape is written to scratch, and valid
// until the next call.
func Text(b []byte, at int, scratch *[]byte) (text []byte, end int) {
	text, end, plain, ok := String(b, at)
	if ok && !plain {
		text, ok = Unescape((*scratch)[:0], text)
		*scratch = text
	}
	if !ok {
		return nil, -1
	}
	return text, end
}

// Item returns where the next element of an array begins, or the name of an object's
// next member. at is where the one before ended, or for the first one the place
// after the opening bracket. At the closing bracket, more is false and Item returns
// the place after it. It returns -1 if there is anything else.
func Item(b []byte, at int, first bool, closing byte) (next int, more bool) {
	at = Space(b, at)
	switch {
	case at >= len(b):
		return -1, false
	case b[at] == closing:
		return at + 1, false
	case first:
		return at, true
	case b[at] == ',':
		return Space(b, at+1), true
	}
	return -1, false
}

// Colon returns where the value begins after a name that ended at at, which is within
// b, or -1.
func Colon(b []byte, at int) int {
	if at = Space(b, at); at >= len(b) || b[at] != ':' {
		return -1
	}
	if at = Space(b, at+1); at < len(b) {
		return at
	}
	return -1
}
