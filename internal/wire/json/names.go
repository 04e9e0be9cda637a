package json

import (
	"encoding/binary"
	"math/bits"
)

// names finds a field by its name, in a hash table in which the known names do not
// collide. A name that is found is compared.
type names struct {
	list  []string
	seed  uint64
	shift uint
	// places holds the number of a field, plus one.
	places []uint16
}

const (
	ones  = 0x0101010101010101
	low7  = 0x7f * ones
	flags = 0x80 * ones
)

func newNames(list []string) names {
	n := names{list: list}
	for size := 2 << bits.Len(uint(len(list))); ; size *= 2 {
		n.shift = uint(64 - bits.TrailingZeros(uint(size)))
		for try := range uint64(64) {
			n.seed = (2*try + 1) * 0x9e3779b97f4a7c15
			n.places = make([]uint16, size)
			if n.fill() {
				return n
			}
		}
	}
}

func (n *names) fill() bool {
	for i, name := range n.list {
		place := &n.places[n.hash(ends(name))]
		if *place != 0 {
			return false
		}
		*place = uint16(i + 1)
	}
	return true
}

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
	i := int(n.places[n.hash(first, last, q)]) - 1
	if i < 0 || n.list[i] != string(raw[at:at+q]) {
		return -1, at
	}
	return i, at + q
}

// closing returns which byte of x is the first quote, or 8 if none is.
func closing(x uint64) int {
	x ^= '"' * ones
	return bits.TrailingZeros64((x-ones)&^x&flags) >> 3
}
