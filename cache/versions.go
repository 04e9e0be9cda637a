package cache

import (
	"cmp"
	"strings"
)

// compareVersions orders two resource versions, as numbers of any length; an
// empty one is zero. ok is false if one of them is not a number.
func compareVersions(a, b string) (order int, ok bool) {
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b)), true
	}
	return strings.Compare(a, b), true
}

func isNumber(version string) bool {
	for i := range len(version) {
		if version[i] < '0' || version[i] > '9' {
			return false
		}
	}
	return true
}
