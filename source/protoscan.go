package source

import (
	"encoding/binary"
	"errors"
	"io"
)

// Wire types of protobuf. Groups (3 and 4) are not among them: nothing in
// Kubernetes has ever used one.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var errNotProto = errors.New("not a protobuf message")

// protoFields calls visit with each length-delimited field of msg, in order,
// until visit returns false, and passes over all others. The value aliases
// msg.
func protoFields(msg []byte, visit func(field int, value []byte) bool) error {
	for len(msg) > 0 {
		tag, n := binary.Uvarint(msg)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return errNotProto
		}
		msg = msg[n:]
		var skip int
		switch tag & 7 {
		case wireVarint:
			if _, skip = binary.Uvarint(msg); skip <= 0 {
				return errNotProto
			}
		case wireFixed64:
			skip = 8
		case wireFixed32:
			skip = 4
		case wireBytes:
			size, n := binary.Uvarint(msg)
			if n <= 0 || size > uint64(len(msg)-n) {
				return io.ErrUnexpectedEOF
			}
			skip = n + int(size)
			if !visit(int(tag>>3), msg[n:skip]) {
				return nil
			}
		default:
			return errNotProto
		}
		if skip > len(msg) {
			return io.ErrUnexpectedEOF
		}
		msg = msg[skip:]
	}
	return nil
}

// uvarint reads one from the stream.
func (w *window) uvarint() (uint64, error) {
	for n := 1; ; n++ {
		if err := w.need(n); err != nil {
			return 0, err
		}
		if v, size := binary.Uvarint(w.unread()[:n]); size > 0 {
			w.take(size)
			return v, nil
		} else if size < 0 || n == binary.MaxVarintLen64 {
			return 0, w.malformed("protobuf", "a number of more than 64 bits")
		}
	}
}

// field reads a field's tag from the stream and, for a length-delimited one,
// its length. Of all other fields it skips the value, and returns 0 as the
// field.
func (w *window) field() (field int, size uint64, err error) {
	tag, err := w.uvarint()
	if err != nil {
		return 0, 0, err
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, 0, w.malformed("protobuf", "field number %d", tag>>3)
	}
	switch tag & 7 {
	case wireBytes:
		size, err = w.uvarint()
		if err == nil && size > 1<<62 {
			err = w.malformed("protobuf", "a length of %d", size)
		}
		return int(tag >> 3), size, err
	case wireVarint:
		_, err = w.uvarint()
	case wireFixed64:
		err = w.skip(8)
	case wireFixed32:
		err = w.skip(4)
	default:
		err = w.malformed("protobuf", "wire type %d", tag&7)
	}
	return 0, 0, err
}
