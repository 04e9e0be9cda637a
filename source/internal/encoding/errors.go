package encoding

import (
	"errors"
	"fmt"
)

// ErrEncoding reports a response, or an object, in an encoding that is not
// among All.
var ErrEncoding = errors.New("neither JSON nor protobuf")

// MalformedError reports bytes that violate the format, so that it is unknown
// where the next object begins. It ends the list or watch.
type MalformedError struct {
	// What was being read.
	What string
	// Offset of the first byte that did not fit, in the decompressed body.
	Offset int64
	Err    error
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed %s at byte %d: %v", e.What, e.Offset, e.Err)
}

// Unwrap returns what went wrong.
func (e *MalformedError) Unwrap() error { return e.Err }

// TooLargeError reports an object of more bytes than the limit. It ends the list
// or watch.
type TooLargeError struct {
	// Bytes is the announced size. JSON announces none: there it is the number of
	// bytes that had arrived.
	Bytes int64
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an object of at least %d bytes, more than the limit of %d that the option MaxObjectBytes sets", e.Bytes, e.Limit)
}
