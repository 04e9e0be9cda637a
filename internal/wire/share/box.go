package share

import "unsafe"

// boxed is a string followed by its bytes: one allocation, whose first cache line
// has all of a short string.
type boxed[D any] struct {
	text string
	data D
}

const (
	// maxInterned is the longest string that is looked up: images and label
	// values are shorter, messages may be longer.
	maxInterned = 256
	// maxBoxBytes is the size of the longest: 16 bytes of header, 256 of text,
	// rounded up to the allocator's class.
	maxBoxBytes = 288
)

// newBox copies v, of at most maxInterned bytes, into a box. The sizes are classes
// of the allocator less the 16 bytes of the header.
func newBox(v string) *string {
	switch n := len(v); {
	case n <= 16:
		return box[[16]byte](v)
	case n <= 32:
		return box[[32]byte](v)
	case n <= 48:
		return box[[48]byte](v)
	case n <= 64:
		return box[[64]byte](v)
	case n <= 96:
		return box[[96]byte](v)
	case n <= 128:
		return box[[128]byte](v)
	case n <= 192:
		return box[[192]byte](v)
	}
	return box[[maxBoxBytes - 16]byte](v)
}

func box[D any](v string) *string {
	b := new(boxed[D])
	data := unsafe.Slice((*byte)(unsafe.Pointer(&b.data)), len(v))
	copy(data, v)
	b.text = unsafe.String(unsafe.SliceData(data), len(v))
	return &b.text
}

// boxBytes returns the size of v's box.
func boxBytes(v string) int {
	switch n := len(v); {
	case n <= 64:
		return 16 + max(16, (n+15)&^15)
	case n <= 128:
		return 16 + (n+31)&^31
	case n <= 192:
		return 16 + 192
	}
	return maxBoxBytes
}
