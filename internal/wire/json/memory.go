package json

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// allocate returns zeroed memory for one value of the node's type.
func (n *node) allocate() unsafe.Pointer { return memory.New(n.typ) }

// move copies a value. A word or a slice needs no reflection.
func (n *node) move(dst, src unsafe.Pointer) {
	switch n.op {
	case opPointer, opMap:
		*(*unsafe.Pointer)(dst) = *(*unsafe.Pointer)(src)
	case opSlice, opBytes:
		*(*memory.Slice)(dst) = *(*memory.Slice)(src)
	case opString:
		*(*string)(dst) = *(*string)(src)
	case opDrop:
	default:
		memory.Copy(n.typ, dst, src)
	}
}

// same reports that two values of the node's type are the same bytes. Equal
// values may differ in bytes.
func (n *node) same(a, b unsafe.Pointer) bool { return memory.Equal(a, b, n.size) }
