package share

import "hash/maphash"

// Hash identifies a unit's bytes; doc.go says why it is enough.
type Hash struct {
	A uint64
	B uint32
}

// hasher computes hashes that nobody outside of the process can predict.
type hasher struct{ a, b maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// Sum returns the hash of raw. It reads raw twice, at 6 to 8 GB/s
// together; a short one takes 13 ns.
func (h *hasher) Sum(raw []byte) Hash {
	return Hash{A: maphash.Bytes(h.a, raw), B: uint32(maphash.Bytes(h.b, raw))}
}

// Xor combines two hashes of different texts.
func (h Hash) Xor(x Hash) Hash { return Hash{A: h.A ^ x.A, B: h.B ^ x.B} }
