package cbor

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
)

// Major types of CBOR (RFC 8949, section 3.1).
const (
	Uint = iota
	Negative
	Bytes
	Text
	Array
	Map
	Tag
	Simple
)

const (
	// Break ends an item of Indefinite length.
	Break = 0xff
	Null  = 0xf6
	// SelfDescribed is the tag in front of every object of Kubernetes (RFC
	// 8949, section 3.4.6).
	SelfDescribed = 55799
	// Indefinite is the length of an item that ends with a Break.
	Indefinite = math.MaxUint64
	// maxDepth is how deep items may nest, as in apimachinery's decoder.
	maxDepth = 10000
)

// Magic is the tag SelfDescribed, encoded.
var Magic = []byte{0xd9, 0xd9, 0xf7}

var (
	errHead   = errors.New("a CBOR item of a reserved kind")
	errBreak  = errors.New("a CBOR break outside of an item of Indefinite length")
	errDepth  = fmt.Errorf("CBOR that nests deeper than %d items", maxDepth)
	errShort  = errors.New("CBOR that ends too early")
	ErrNotMap = errors.New("not a CBOR map")
)

// Head is the head of an item: its major type and its argument, which is a number, a
// length, or a tag.
type Head struct {
	Major byte
	Arg   uint64
	// Size is how many bytes the head takes.
	Size int
}

// ReadHead reads the head at the start of b. Its size is 0 if b ends before
// it does.
func ReadHead(b []byte) (h Head, err error) {
	if len(b) == 0 {
		return h, nil
	}
	h.Major = b[0] >> 5
	info := b[0] & 31
	n := 0
	switch {
	case info < 24:
		h.Arg, h.Size = uint64(info), 1
		return h, nil
	case info <= 27:
		n = 1 << (info - 24)
	case info == 31 && h.Major != Uint && h.Major != Negative && h.Major != Tag:
		h.Arg, h.Size = Indefinite, 1
		return h, nil
	default:
		return h, errHead
	}
	if len(b) <= n {
		return h, nil
	}
	var word [8]byte
	copy(word[8-n:], b[1:1+n])
	if h.Arg, h.Size = binary.BigEndian.Uint64(word[:]), 1+n; h.Arg == Indefinite {
		return h, errHead // nothing is that long
	}
	return h, nil
}

// Extent finds the end of an item in bytes that arrive piece by piece, and reads
// each head once. The zero value is at the start of an item.
type Extent struct {
	// at is how far it has come, in bytes.
	at int
	// open has how many items are left in each container around at, or Indefinite.
	open []uint64
}

// End returns the size of the item at the start of b, or 0 if it ends beyond b. Later
// calls must pass the same bytes, and more of them.
func (e *Extent) End(b []byte) (int, error) {
	for {
		if e.at >= len(b) {
			return 0, nil
		}
		if b[e.at] == Break {
			last := len(e.open) - 1
			if last < 0 || e.open[last] != Indefinite {
				return 0, errBreak
			}
			e.at++
			e.open = e.open[:last]
			if e.itemEnds() {
				return e.at, nil
			}
			continue
		}
		h, err := ReadHead(b[e.at:])
		if err != nil || h.Size == 0 {
			return 0, err
		}
		next, items := e.at+h.Size, uint64(0)
		switch h.Major {
		case Bytes, Text:
			if h.Arg == Indefinite {
				items = Indefinite
				break
			}
			if h.Arg > uint64(len(b)-next) {
				return 0, nil
			}
			next += int(h.Arg)
		case Array:
			items = h.Arg
		case Map:
			if items = h.Arg; items != Indefinite {
				if items > math.MaxInt64/2 {
					return 0, errHead
				}
				items *= 2
			}
		case Tag:
			items = 1
		}
		e.at = next
		if items > 0 {
			if len(e.open) == maxDepth {
				return 0, errDepth
			}
			e.open = append(e.open, items)
			continue
		}
		if e.itemEnds() {
			return e.at, nil
		}
	}
}

// itemEnds counts an item that is complete, and the containers that it completes.
// It returns true if nothing is open any more.
func (e *Extent) itemEnds() bool {
	for last := len(e.open) - 1; last >= 0; last-- {
		if e.open[last] == Indefinite {
			return false
		}
		if e.open[last]--; e.open[last] > 0 {
			return false
		}
		e.open = e.open[:last]
	}
	return true
}

// End returns the size of the item at the start of b, which must have all of it.
func End(b []byte) (int, error) {
	var e Extent
	n, err := e.End(b)
	if err == nil && n == 0 {
		err = errShort
	}
	return n, err
}

// String returns the content of the string at the start of b, and the rest of b. It is
// not ok for an item of any other kind.
func String(b []byte) (content, rest []byte, ok bool) {
	b = Untagged(b)
	h, err := ReadHead(b)
	if err != nil || h.Size == 0 || h.Major != Bytes && h.Major != Text {
		return nil, nil, false
	}
	b = b[h.Size:]
	if h.Arg != Indefinite {
		if h.Arg > uint64(len(b)) {
			return nil, nil, false
		}
		return b[:h.Arg], b[h.Arg:], true
	}
	// The chunks are strings of the same kind and of definite length.
	for len(b) > 0 && b[0] != Break {
		chunk, err := ReadHead(b)
		if err != nil || chunk.Size == 0 || chunk.Major != h.Major || chunk.Arg > uint64(len(b)-chunk.Size) {
			return nil, nil, false
		}
		content = append(content, b[chunk.Size:chunk.Size+int(chunk.Arg)]...)
		b = b[chunk.Size+int(chunk.Arg):]
	}
	if len(b) == 0 {
		return nil, nil, false
	}
	return content, b[1:], true
}

// Untagged skips the tags in front of an item, as apimachinery's decoder does. It
// stops at a tag that asks for another encoding of a byte string.
func Untagged(b []byte) []byte {
	for {
		h, err := ReadHead(b)
		if err != nil || h.Size == 0 || h.Major != Tag || h.Arg >= tagBase64URL && h.Arg <= tagBase16 {
			return b
		}
		b = b[h.Size:]
	}
}

// Members calls visit with each member of the map raw, in order, until visit
// returns false. Both arguments alias raw, except that a name of indefinite length
// is a copy. Members whose keys are no strings are skipped. It visits the members
// before a syntax error.
func Members(raw []byte, visit func(name, value []byte) bool) error {
	raw = Untagged(raw)
	h, err := ReadHead(raw)
	switch {
	case err != nil:
		return err
	case h.Size == 0:
		return errShort
	case h.Major != Map:
		return ErrNotMap
	}
	raw = raw[h.Size:]
	for n := uint64(0); n < h.Arg; n++ {
		if len(raw) == 0 {
			return errShort
		}
		if h.Arg == Indefinite && raw[0] == Break {
			return nil
		}
		name, rest, ok := String(raw)
		if !ok {
			// It is no name of a field.
			size, err := End(raw)
			if err != nil {
				return err
			}
			rest = raw[size:]
		}
		size, err := End(rest)
		if err != nil {
			return err
		}
		if ok && !visit(name, rest[:size]) {
			return nil
		}
		raw = rest[size:]
	}
	return nil
}

// IdentityOf reads the namespace and name in an object's metadata. They alias raw.
func IdentityOf(raw []byte) (namespace, name []byte, ok bool) {
	_ = Members(raw, func(member, value []byte) bool {
		if string(member) != "metadata" {
			return true
		}
		ok = Members(value, func(member, value []byte) bool {
			switch string(member) {
			case "namespace":
				namespace, _, _ = String(value)
			case "name":
				name, _, _ = String(value)
			}
			return true
		}) == nil
		return false
	})
	return namespace, name, ok
}

// Texts calls visit with each text in raw, names included, until visit returns
// false. Byte strings come as text, in the encoding that a tag asks for. whole is
// false for one of indefinite length, which comes in pieces.
func Texts(raw []byte, visit func(text []byte, whole bool) bool) {
	var tag uint64
	for len(raw) > 0 {
		if raw[0] == Break {
			raw, tag = raw[1:], 0
			continue
		}
		h, err := ReadHead(raw)
		if err != nil || h.Size == 0 {
			return
		}
		raw = raw[h.Size:]
		switch {
		case h.Major == Tag:
			tag = h.Arg
			continue
		case h.Major != Bytes && h.Major != Text:
		case h.Arg == Indefinite:
			if !visit(nil, false) {
				return
			}
		case h.Arg > uint64(len(raw)) || !visit(encoded(raw[:h.Arg], tag), true):
			return
		default:
			raw = raw[h.Arg:]
		}
		tag = 0
	}
}

// Tags of byte strings that are to become text in another encoding (RFC 8949,
// section 3.4.5.2).
const (
	tagBase64URL = 21
	tagBase16    = 23
)

func encoded(b []byte, tag uint64) []byte {
	switch tag {
	case tagBase64URL:
		return base64.RawURLEncoding.AppendEncode(nil, b)
	case tagBase64URL + 1:
		return base64.StdEncoding.AppendEncode(nil, b)
	case tagBase16:
		return hex.AppendEncode(nil, b)
	}
	return b
}
