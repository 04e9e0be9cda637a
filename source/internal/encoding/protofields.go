package encoding

import (
	"encoding/binary"
	"io"
)

// Wire types of protobuf, without groups (3 and 4), which nothing in Kubernetes
// has ever used.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// protoFields calls visit with each length-delimited field of msg, in order,
// until visit returns false. It skips all other fields. The value aliases msg.
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

// uvarint reads a number from the stream.
func (w *Window) uvarint() (uint64, error) {
	for n := 1; ; n++ {
		if err := w.Need(n); err != nil {
			return 0, err
		}
		if v, size := binary.Uvarint(w.Unread()[:n]); size > 0 {
			w.Consume(size)
			return v, nil
		} else if size < 0 || n == binary.MaxVarintLen64 {
			return 0, w.Malformed("protobuf", "a number of more than 64 bits")
		}
	}
}

// field reads a field's tag from the stream and, for a length-delimited field,
// its length. It skips the value of any other field, and returns 0 as the field.
func (w *Window) field() (field int, size uint64, err error) {
	tag, err := w.uvarint()
	if err != nil {
		return 0, 0, err
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, 0, w.Malformed("protobuf", "field number %d", tag>>3)
	}
	switch tag & 7 {
	case wireBytes:
		size, err = w.uvarint()
		if err == nil && size > 1<<62 {
			err = w.Malformed("protobuf", "a length of %d", size)
		}
		return int(tag >> 3), size, err
	case wireVarint:
		_, err = w.uvarint()
	case wireFixed64:
		err = w.Skip(8)
	case wireFixed32:
		err = w.Skip(4)
	default:
		err = w.Malformed("protobuf", "wire type %d", tag&7)
	}
	return 0, 0, err
}
