package json

import (
	"encoding/binary"
	"math/bits"
)

// names finds a field by its name, in a hash table. A name that is found is compared.
type names struct {
	list  []string
	seed  uint64
	shift uint
	// places holds the number of a field, plus one, where its name's hash says or in
	// one of the places behind. Invariant: at least half of them are zero.
	places []uint16
}

const (
	ones  = 0x0101010101010101
	low7  = 0x7f * ones
	flags = 0x80 * ones
)

// maxPlaces is how many places newNames tries, for each name, to give each a place of
// its own.
const maxPlaces = 32

func newNames(list []string) names {
	n := names{list: list}
	size := 2 << bits.Len(uint(len(list)))
	for ; ; size *= 2 {
		n.shift = uint(64 - bits.TrailingZeros(uint(size)))
		n.places = make([]uint16, size)
		for try := range uint64(64) {
			n.seed = (2*try + 1) * 0x9e3779b97f4a7c15
			if n.fill(size >= maxPlaces*len(list)) {
				return n
			}
			clear(n.places)
		}
	}
}

// fill fills the empty table. Names that hash does not tell apart stand one behind the
// other. It reports whether no others do, which crowded permits.
func (n *names) fill(crowded bool) bool {
	for i, name := range n.list {
		first, last, length := ends(name)
		at := n.hash(first, last, length)
		for n.places[at] != 0 {
			f, l, k := ends(n.list[n.places[at]-1])
			if !crowded && (f != first || l != last || k != length) {
				return false
			}
			at = n.after(at)
		}
		n.places[at] = uint16(i + 1)
	}
	return true
}

// after returns the place behind another.
func (n *names) after(at uint64) uint64 { return (at + 1) & uint64(len(n.places)-1) }

// hash mixes a name's first and last eight bytes, which may overlap, and its
// length.
func (n *names) hash(first, last uint64, length int) uint64 {
	x := first*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(last*0xc2b2ae3d27d4eb4f, 31) ^ uint64(length)
	return (x ^ x>>29) * n.seed >> n.shift
}

func ends(name string) (first, last uint64, length int) {
	if len(name) >= 8 {
		b := []byte(name)
		return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[len(b)-8:]), len(b)
	}
	for i := range len(name) {
		first |= uint64(name[i]) << (8 * i)
	}
	return first, first, len(name)
}

// find reads the name at raw[at], after its opening quote. It returns the number
// of the field and where the closing quote is. field is -1 if there is no such
// field, or if raw ends; the name was then not checked.
func (n *names) find(raw []byte, at int) (field, quote int) {
	if len(raw)-at < 8 {
		return -1, at
	}
	x := binary.LittleEndian.Uint64(raw[at:])
	first, last := x, x
	q := closing(x)
	if q < 8 {
		first &= 1<<(8*q) - 1
		last = first
	} else {
		for i := at + 8; ; i += 8 {
			if len(raw)-i < 8 {
				return -1, at
			}
			if k := closing(binary.LittleEndian.Uint64(raw[i:])); k < 8 {
				q = i + k - at
				last = binary.LittleEndian.Uint64(raw[at+q-8:])
				break
			}
		}
	}
	for place := n.hash(first, last, q); ; place = n.after(place) {
		i := int(n.places[place]) - 1
		if i < 0 {
			return -1, at
		}
		if n.list[i] == string(raw[at:at+q]) {
			return i, at + q
		}
	}
}

// closing returns which byte of x is the first quote, or 8 if none is.
func closing(x uint64) int {
	x ^= '"' * ones
	return bits.TrailingZeros64((x-ones)&^x&flags) >> 3
}
