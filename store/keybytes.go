package store

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Keys are compared by bytes as if each were one string: the namespace, a zero,
// the name. That sorts like Key.Compare as long as no
// key contains a zero; no key of Kubernetes does. maxBytes keeps lengths
// within 16 bits.
const maxBytes = 1<<16 - 16

// keyBuf is room for the bytes of any key that Kubernetes allows: 253 of a
// name, 63 of a namespace and a zero. It is an array on the stack, so that
// looking for a key does not allocate.
type keyBuf [320]byte

// target is a key to search for. Its bytes are nil if it, or the tree, must be
// compared by whole keys.
type target struct {
	*Key
	bytes []byte
}

// odd reports whether a key cannot be compared by bytes.
func (k *Key) odd() bool {
	return strings.IndexByte(k.Name, 0) >= 0 || strings.IndexByte(k.Namespace, 0) >= 0 ||
		len(k.Namespace)+len(k.Name) > maxBytes
}

// appendTo appends the bytes that a key is compared by.
func (k *Key) appendTo(b []byte) []byte {
	b = append(append(b, k.Namespace...), 0)
	return append(b, k.Name...)
}

// common returns how many bytes two different keys have in common.
func common(a, b *Key) int {
	if a.Namespace != b.Namespace {
		return commonLen(a.Namespace, b.Namespace)
	}
	return len(b.Namespace) + 1 + commonLen(a.Name, b.Name)
}

// shared returns how many bytes the keys between two fences share.
func shared(lo, hi *Key) int {
	if lo == nil || hi == nil {
		return 0
	}
	return min(common(lo, hi), maxBytes)
}

// separate returns the shortest key k with a < k <= b, where a and b share
// their first n bytes. It reuses strings of near, an older separator, and
// copies others.
func separate(b *Key, n int, near *Key) *Key {
	if n < len(b.Namespace) {
		return &Key{Namespace: strings.Clone(b.Namespace[:n+1])}
	}
	k := &Key{}
	if near != nil && near.Namespace == b.Namespace {
		k.Namespace = near.Namespace
	} else {
		k.Namespace = strings.Clone(b.Namespace)
	}
	n -= len(b.Namespace) + 1
	k.Name = strings.Clone(b.Name[:n+1])
	return k
}

// commonLen returns how many bytes two strings have in common.
func commonLen[S string | []byte](a, b S) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// commonBytes is commonLen for slices that mostly share more than a few bytes.
func commonBytes(a, b []byte) int {
	n := 0
	for len(a) >= 8 && len(b) >= 8 {
		if x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
		a, b, n = a[8:], b[8:], n+8
	}
	return n + commonLen(a, b)
}
