package store

import (
	"hash/maphash"
	"strings"
)

// fingerprint is what a key is known by: 96 bits from two keyed hashes with
// random seeds of the store's own. Tag finds the slot; print, which stands in
// the slot beside the object, tells that it is the right one.
//
// Keys are not compared beyond that. Two different keys agree by chance once
// in 2^96: a store asked a billion times a second for a key that it does not
// have, each time comparing two entries, is wrong once in 10^12 years. The
// seeds are secret and of this process, so names cannot be chosen to collide.
// Comparing the bytes instead costs cold cache lines of the object, and makes
// a look-up three times as slow.
//
// A store that remembers keys hashes the text that Key.String returns, so that
// GetString hashes a string as it is. Several keys have the same text; where in
// it the parts end is in print, which therefore differs. Other stores hash the
// parts, which takes less time than to put them together.
type fingerprint struct {
	tag   uint32
	print uint64
}

// hasher makes fingerprints.
type hasher struct {
	// seeds are of the tag and of the print.
	seeds [2]maphash.Seed
	// byText says that texts are hashed.
	byText bool
}

// of returns the fingerprint of a key.
func (h *hasher) of(k Key) fingerprint {
	if h.byText {
		return fingerprint{tagOf(hashText(h.seeds[0], k)), printOf(hashText(h.seeds[1], k), k.ends())}
	}
	a, b := maphash.String(h.seeds[0], k.Name), maphash.String(h.seeds[1], k.Name)
	if k.Namespace != "" {
		a = spread(a) ^ maphash.String(h.seeds[0], k.Namespace)
		b = spread(b) ^ maphash.String(h.seeds[1], k.Namespace)
	}
	if k.Cluster != "" {
		a = spread(spread(a)) ^ maphash.String(h.seeds[0], k.Cluster)
		b = spread(spread(b)) ^ maphash.String(h.seeds[1], k.Cluster)
	}
	return fingerprint{tag: tagOf(spread(a)), print: max(b, 1)}
}

// spread is a bijection, so that the same string in two fields counts.
func spread(x uint64) uint64 { return (x ^ x>>32) * odd64 }

const odd64 = 0x9e3779b97f4a7c15

// ends says where in a key's text its parts end.
func (k *Key) ends() uint64 { return uint64(len(k.Namespace)) | uint64(len(k.Cluster))<<32 }

// The tag and the print of a text are asked for one by one: the processor
// fetches what the tag leads to while the print is computed.

// tagOfText is the tag of ParseKey(text) in a store that hashes texts.
func (h *hasher) tagOfText(text string) uint32 { return tagOf(maphash.String(h.seeds[0], text)) }

// printOfText is the print of ParseKey(text) in a store that hashes texts.
func (h *hasher) printOfText(text string) uint64 {
	return printOf(maphash.String(h.seeds[1], text), uint64(max(0, strings.IndexByte(text, '/'))))
}

func tagOf(hash uint64) uint32 { return uint32(hash >> 32) }

// printOf makes a print of a text's hash and of where its parts end. Multiplying
// with an odd number keeps different ends different.
func printOf(hash, ends uint64) uint64 { return max(hash^ends*odd64, 1) }

// textMost is how long a text is put together on the stack: namespaces have at
// most 63 bytes, names seldom as many.
const textMost = 128

// hashText is maphash.String(seed, k.String()) without the string.
func hashText(seed maphash.Seed, k Key) uint64 {
	n := len(k.Namespace)
	switch {
	case k.Cluster == "" && n == 0:
		return maphash.String(seed, k.Name)
	case k.Cluster == "" && n < textMost && n+1+len(k.Name) <= textMost:
		var text [textMost]byte
		copy(text[:], k.Namespace)
		text[n] = '/'
		return maphash.Bytes(seed, text[:n+1+copy(text[n+1:], k.Name)])
	}
	var m maphash.Hash
	m.SetSeed(seed)
	if k.Cluster != "" {
		m.WriteString(k.Cluster)
		m.WriteByte('/')
	}
	m.WriteString(k.Namespace)
	m.WriteByte('/')
	m.WriteString(k.Name)
	return m.Sum64()
}

// hashValue returns the hash by which an index finds a value.
func (h *hasher) hashValue(value string) uint64 { return maphash.String(h.seeds[0], value) }
