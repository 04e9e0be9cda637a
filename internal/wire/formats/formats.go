// Package formats names the encodings of objects. It is apart from the packages
// that decode them, since some of those import unsafe.
package formats

import "errors"

// Format is an encoding that values are decoded from.
type Format uint32

const (
	Protobuf Format = iota + 1
	JSON
	Untyped
	CBOR
	// Structure is no encoding: it makes no memos, but units of its own.
	Structure
	// Count is how many there are, with one that is none.
	Count
)

// ErrNone reports bytes in an encoding that a type cannot be read from, as
// protobuf for a custom resource.
var ErrNone = errors.New("this type cannot be read from the encoding that came")
