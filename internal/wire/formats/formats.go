// Package formats names the encodings of objects.
package formats

import "errors"

// Format is an encoding that values are decoded from.
type Format uint32

const (
	Protobuf Format = iota + 1
	JSON
	Untyped
	// Structure is no encoding: it has units of its own, but no memos.
	Structure
	// Count is the number of formats, including the zero one.
	Count
)

// ErrNone reports bytes in an encoding that a type cannot be read from, as
// protobuf for a custom resource.
var ErrNone = errors.New("this type cannot be read from the encoding that came")
