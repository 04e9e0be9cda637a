// Package resourceversion compares resource versions as KEP-5504 allows: as
// decimal integers of any length, and not at all where they are anything else.
//
// It imports nothing, keeps nothing, and is safe for concurrent use.
package resourceversion

// Compare returns -1, 0 or +1 as version a is older than, the same as or newer
// than version b of the same collection.
//
// ok is false where no order is known: one of them is not a decimal integer in
// its shortest form ("", "0", "007", "1-2", "abc"). "0" is no version, it
// stands for "any" in requests. Equal strings without an order are not ok
// either.
//
// It neither allocates nor converts, so that no length overflows.
func Compare(a, b string) (order int, ok bool) {
	if !Ordered(a) || !Ordered(b) {
		return 0, false
	}
	// Without leading zeros the longer number is the larger one, and digits
	// of equal length sort as text.
	switch {
	case a == b:
		return 0, true
	case len(a) < len(b), len(a) == len(b) && a < b:
		return -1, true
	}
	return +1, true
}

// Ordered reports whether v is a version that can be compared with others.
func Ordered(v string) bool {
	if v == "" || v[0] == '0' {
		return false
	}
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}
