package json

import (
	"math"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// maxDepth is how deep values may nest on the fast path. Real objects stay
// below 30, a CustomResourceDefinition's schema included.
const maxDepth = 100

// tape has where the objects and arrays inside one value begin and end. One pass
// finds them, and also proves the value to be valid JSON. Without it a byte would
// be scanned once for each level that it is in.
type tape struct {
	start, end int
	// next is the entry at which a search begins: the decoder asks in the order
	// in which the values begin.
	next    int
	entries []extent
}

// extent is an object or array: where it begins and ends, from the tape's
// start, and how many elements or members it has.
type extent struct{ at, end, n int32 }

// find returns the entry of the value that begins at raw[at], or nil if there is
// none.
func (t *tape) find(at int) *extent {
	if at < t.start || at >= t.end {
		return nil
	}
	want := int32(at - t.start)
	if t.next > 0 && t.entries[t.next-1].at >= want {
		t.next = 0
	}
	for ; t.next < len(t.entries); t.next++ {
		if e := &t.entries[t.next]; e.at >= want {
			if e.at == want {
				return e
			}
			break
		}
	}
	return nil
}

// read fills the tape with the value that begins at raw[at]. It reports false if
// that is not valid JSON, ends beyond raw, or nests too deep.
func (t *tape) read(raw []byte, at int) bool {
	t.start, t.end, t.next = at, at, 0
	t.entries = t.entries[:0]
	end, ok := t.value(raw, at)
	if !ok {
		t.entries = t.entries[:0]
		return false
	}
	t.end = end
	return true
}

// value loops over the tokens, with a stack of the open objects and arrays.
func (t *tape) value(raw []byte, at int) (int, bool) {
	var open [maxDepth]int32
	depth, i := 0, at
	for {
		// A value begins here.
		i = scan.Space(raw, i)
		if i >= len(raw) || i-at > math.MaxInt32/2 {
			return i, false
		}
		ok := true
		switch c := raw[i]; c {
		case '{', '[':
			if depth == maxDepth {
				return i, false
			}
			open[depth] = int32(len(t.entries))
			depth++
			t.entries = append(t.entries, extent{at: int32(i - at)})
			i = scan.Space(raw, i+1)
			// '}' is '{'+2, as ']' is '['+2.
			if i >= len(raw) || raw[i] != c+2 {
				t.entries[len(t.entries)-1].n = 1
				if c == '{' {
					if i, ok = scan.MemberName(raw, i); !ok {
						return i, false
					}
				}
				continue
			}
			i++
			depth--
			t.entries[len(t.entries)-1].end = int32(i - at)
		case '"':
			i, ok = scan.StringEnd(raw, i)
		case 'n', 't', 'f':
			i, ok = scan.Literal(raw, i)
		default:
			i, _, ok = scan.Number(raw, i)
		}
		if !ok {
			return i, false
		}
		// A value ended here.
		for {
			if depth == 0 {
				return i, true
			}
			i = scan.Space(raw, i)
			if i >= len(raw) {
				return i, false
			}
			e := &t.entries[open[depth-1]]
			begun := raw[at+int(e.at)]
			if raw[i] == ',' {
				e.n++
				i++
				if begun == '{' {
					if i, ok = scan.MemberName(raw, scan.Space(raw, i)); !ok {
						return i, false
					}
				}
				break
			}
			if raw[i] != begun+2 {
				return i, false
			}
			i++
			depth--
			e.end = int32(i - at)
		}
	}
}
