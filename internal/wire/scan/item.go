package scan

// Text returns what the string at b[at] says and where it ends, or -1 for what
// encoding/json refuses. What has an escape in it is written to scratch: it is
// good until the next call.
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

// Item returns where the next element of an array begins, or the name of an
// object's next member, if at is where the one before ended, or for the first
// behind the bracket. At the end of the array or object, which is a closing
// bracket, there are no more, and it returns what is behind that. It returns -1
// if something else stands there.
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

// Colon returns where the value behind a name that ended at at begins, which is
// within b, or -1.
func Colon(b []byte, at int) int {
	if at = Space(b, at); at >= len(b) || b[at] != ':' {
		return -1
	}
	if at = Space(b, at+1); at < len(b) {
		return at
	}
	return -1
}
