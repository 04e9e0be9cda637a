package untyped

import (
	"encoding/binary"
	"math/bits"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// names are the names of members that were decoded recently, by a hash that is
// cheaper than the table's. Objects of a kind have few.
type names [1 << nameBits]string

const (
	nameBits = 9
	// maxName is the longest name that is kept, so that no decoder keeps more than
	// 32 KiB alive.
	maxName = 64
)

// name returns content as a string, and its hash.
func (d *decoder) name(content []byte) (string, uint64) {
	h := nameHash(content)
	if d.table == nil {
		return string(content), h
	}
	place := &d.names[h>>(64-nameBits)]
	if *place == string(content) {
		return *place, h
	}
	s := d.session.String(content)
	if len(s) <= maxName {
		*place = s
	}
	return s, h
}

// nameHash hashes the length, the first eight bytes and the last eight.
func nameHash(b []byte) uint64 {
	var first, last uint64
	switch n := len(b); {
	case n >= 8:
		first, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		first, last = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		first, last = uint64(b[0])<<8|uint64(b[n/2]), uint64(b[n-1])
	}
	hi, lo := bits.Mul64(first^0x9e3779b97f4a7c15, last^uint64(len(b))^0xbf58476d1ce4e5b9)
	return (hi ^ lo) * 0x94d049bb133111eb
}

// maxDistinct is how many members are compared with each other. For more, the
// length of the map shows duplicates.
const maxDistinct = 64

// distinct reports that no name occurs twice among up to maxDistinct members.
func distinct(all []member) bool {
	if len(all) > maxDistinct {
		return true
	}
	var seen [4]uint64
	for i := range all {
		h := all[i].hash >> 56
		if seen[h>>6]&(1<<(h&63)) != 0 {
			for j := range all[:i] {
				if all[j].name == all[i].name {
					return false
				}
			}
		}
		seen[h>>6] |= 1 << (h & 63)
	}
	return true
}

// path is a place in objects: a 64-bit hash of the names on the way to it. The
// elements of an array are one place. A collision of two places costs only time.
type path uint64

func (p path) member(nameHash uint64) path { return (p ^ path(nameHash)) * 0x9e3779b97f4a7c15 }

func (p path) element() path { return p*0x9e3779b97f4a7c15 + 1 }

// place returns the path as a filter counts it.
func (p path) place() share.Place { return share.PlaceOfPath(uint64(p)) }
