package store

import (
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// fingerprint identifies a key by 96 bits of a keyed hash. The tag finds the
// slot; the print, which is stored in the slot beside the object, confirms that
// it is the right one.
//
// Keys are not compared beyond that. Two different keys agree by chance once in
// 2^96: a store asked a billion times a second for a key that it does not have,
// each time comparing two entries, is wrong once in 10^12 years. The secrets are
// the store's own, so names cannot be chosen to collide. Comparing the bytes
// instead reads cold cache lines of the object, and makes a lookup three times
// as slow.
type fingerprint struct {
	tag   uint32
	print uint64
}

// hasher makes fingerprints of keys, and hashes of index values.
//
// A key is read as pairs of words: first its lengths, then 16 bytes at a time.
// Pair number i, (x, y), adds (x+s[2i])·(y+s[2i+1]) to one sum of 128 bits,
// where s are the secrets. The product with the next two secrets is added to a
// second sum. This is NH, the universal hash of UMAC (RFC 4418), with its
// Toeplitz construction: the probability that two different keys agree in both
// sums is at most 2^-128, however the keys were chosen. The first sum is mixed
// down to the tag, the second to the print. One pass over the key costs half of
// two calls of maphash.
//
// A store that remembers keys hashes the text that Key.String returns, so that
// GetString hashes a string as it is. Several keys can have the same text.
// ParseKey returns one of them; the others also hash where the parts end. Other
// stores hash the parts, which takes less time than joining them.
type hasher struct {
	secrets [2*maxPairs + 2]uint64
	// seeds[0] is for index values; both are for keys with more than maxPairs
	// pairs.
	seeds  [2]maphash.Seed
	byText bool
}

const (
	// maxPairs is how many pairs have secrets of their own. The longest key of
	// Kubernetes, 63 bytes of namespace and 253 of name, has 1 + 4 + 16.
	maxPairs = 24
	// maxText is how many bytes fit: one pair has the lengths, and the last
	// pair of each part need not be full.
	maxText = (maxPairs - 3) * 16
	// shortText is the longest text that is joined on the stack at little cost:
	// namespaces have at most 63 bytes, names seldom as many.
	shortText = 128
)

func newHasher(byText bool) hasher {
	h := hasher{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, byText: byText}
	for i := range h.secrets {
		h.secrets[i] = rand.Uint64()
	}
	return h
}

// of returns the fingerprint of a key.
func (h *hasher) of(k Key) fingerprint {
	n := len(k.Namespace)
	switch {
	case h.byText && n+1+len(k.Name) > shortText:
		return h.ofLong(k)
	case !h.byText:
		return hash(h, uint64(n), uint64(len(k.Name)), k.Namespace, k.Name)
	case n == 0:
		return hash(h, uint64(len(k.Name)), k.ends(), k.Name, "")
	}
	var text [shortText]byte
	copy(text[:], k.Namespace)
	text[n] = '/'
	n += 1 + copy(text[n+1:], k.Name)
	return hash(h, uint64(n), k.ends(), text[:n], nil)
}

// ofLong is of for a long text. It allocates if the text
// is longer than maxText.
//
//go:noinline
func (h *hasher) ofLong(k Key) fingerprint {
	var buf [maxText]byte
	text := k.appendText(buf[:0])
	return hash(h, uint64(len(text)), k.ends(), text, nil)
}

// ofText returns the fingerprint of ParseKey(text) in a store that hashes texts.
func (h *hasher) ofText(text string) fingerprint { return hash(h, uint64(len(text)), 0, text, "") }

// ends returns 0 for a key that ParseKey returns for its text. For any other key
// it returns where in the text the namespace ends.
func (k *Key) ends() uint64 {
	if strings.IndexByte(k.Namespace, '/') < 0 && (k.Namespace != "" || strings.IndexByte(k.Name, '/') <= 0) {
		return 0
	}
	return uint64(len(k.Namespace) + 1)
}

// hash returns the fingerprint of the pair (x, y) and two texts. The pair must
// determine the lengths of the texts.
func hash[S string | []byte](h *hasher, x, y uint64, text, next S) fingerprint {
	if len(text)+len(next) > maxText {
		return h.ofMaphash(x, y, string(text)+string(next))
	}
	s := h.secrets[:]
	aHigh, aLow := bits.Mul64(x+s[0], y+s[1])
	bHigh, bLow := bits.Mul64(x+s[2], y+s[3])
	for {
		for s = s[2:]; len(text) > 16 && len(s) >= 4; s, text = s[2:], text[16:] {
			x, y = word(text), word(text[8:])
			aHigh, aLow = addProduct(aHigh, aLow, x+s[0], y+s[1])
			bHigh, bLow = addProduct(bHigh, bLow, x+s[2], y+s[3])
		}
		if n := len(text); n > 0 && len(s) >= 4 {
			switch {
			case n >= 8:
				x, y = word(text), word(text[n-8:])
			case n >= 4:
				x, y = half(text), half(text[n-4:])
			default:
				x, y = uint64(text[0])<<16|uint64(text[n/2])<<8|uint64(text[n-1]), 0
			}
			aHigh, aLow = addProduct(aHigh, aLow, x+s[0], y+s[1])
			bHigh, bLow = addProduct(bHigh, bLow, x+s[2], y+s[3])
		}
		if len(next) == 0 {
			return fingerprint{tag: uint32(mix(aHigh, aLow) >> 32), print: max(mix(bHigh, bLow), 1)}
		}
		text, next = next, next[:0]
	}
}

// addProduct adds a product to a sum of 128 bits.
func addProduct(high, low, x, y uint64) (uint64, uint64) {
	h, l := bits.Mul64(x, y)
	low, carry := bits.Add64(low, l, 0)
	return high + h + carry, low
}

// ofMaphash is hash for texts that have more pairs than there are secrets.
//
//go:noinline
func (h *hasher) ofMaphash(x, y uint64, text string) fingerprint {
	lengths := x*odd64 ^ y
	return fingerprint{
		tag:   uint32(maphash.String(h.seeds[0], text) >> 32),
		print: max((maphash.String(h.seeds[1], text)^lengths)*odd64, 1),
	}
}

// word reads the first 8 bytes of a text.
func word[S string | []byte](s S) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// half reads the first 4 bytes of a text.
func half[S string | []byte](s S) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// mix reduces a sum to 64 bits that are equally good.
func mix(high, low uint64) uint64 {
	high, low = bits.Mul64(high^odd64, low^odd64>>1)
	return high ^ low
}

const odd64 = 0x9e3779b97f4a7c15

// hashValue returns the hash by which an index finds a value.
func (h *hasher) hashValue(value string) uint64 { return maphash.String(h.seeds[0], value) }
