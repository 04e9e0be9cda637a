package encoding

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
)

// protoMagic is the start of every protobuf object of Kubernetes. It is followed
// by a runtime.Unknown, the envelope: the kind as field 1, the object's own
// message as field 2.
var protoMagic = []byte("k8s\x00")

var errNotProto = errors.New("not a protobuf message")

// protobuf implements Encoding.
type protobuf struct{}

func (protobuf) Format() formats.Format { return formats.Protobuf }
func (protobuf) MediaType() string      { return runtime.ContentTypeProtobuf }

func (protobuf) Frames() Frames                           { return Frames{} }
func (protobuf) Prefix([]byte) (Prefix, bool)             { return Prefix{}, false }
func (protobuf) Kind([]byte) schema.GroupVersionKind      { return schema.GroupVersionKind{} }
func (protobuf) FirstKind([]byte) schema.GroupVersionKind { return schema.GroupVersionKind{} }
func (protobuf) Item(raw []byte) (Object, error)          { return Object{Raw: raw}, nil }
func (protobuf) Unmarshal(raw []byte, into Meta) error    { return into.Unmarshal(raw) }

// Event implements Encoding: the type is field 1, the object field 2, in a
// RawExtension.
func (p protobuf) Event(frame []byte) (Event, error) {
	var e Event
	if bytes.HasPrefix(frame, protoMagic) {
		// The frame is an object, not an event: only a Status is valid here.
		o, err := p.Object(frame)
		if err != nil || o.Kind != StatusKind {
			return e, errNotProto
		}
		e.Object, e.Bare = o, true
		return e, nil
	}
	var object []byte
	var bad error
	err := protoFields(frame, func(field int, value []byte) bool {
		switch field {
		case 1:
			e.Type = string(value)
		case 2:
			bad = protoFields(value, func(field int, value []byte) bool {
				if field == 1 {
					object = value
				}
				return true
			})
		}
		return bad == nil
	})
	if err := cmp.Or(err, bad); err != nil {
		return e, err
	}
	if e.Object, e.Err = p.Object(object); e.Err != nil {
		e.Object.Raw = object
	}
	return e, nil
}

// Object implements Encoding. It takes the object out of its envelope.
func (protobuf) Object(raw []byte) (Object, error) {
	var o Object
	if !bytes.HasPrefix(raw, protoMagic) {
		return o, fmt.Errorf("%w: %s", errNotProto, Glimpse(raw))
	}
	var tm runtime.TypeMeta
	var bad error
	err := protoFields(raw[len(protoMagic):], func(field int, value []byte) bool {
		switch field {
		case 1:
			bad = tm.Unmarshal(value)
		case 2:
			o.Raw = value
		}
		return bad == nil
	})
	o.Kind, o.Enveloped = schema.FromAPIVersionAndKind(tm.APIVersion, tm.Kind), true
	return o, cmp.Or(err, bad)
}

// Identity implements Encoding: every object has its ObjectMeta as field 1.
func (protobuf) Identity(raw []byte) Identity {
	var id Identity
	_ = protoFields(raw, func(field int, value []byte) bool {
		if field != 1 {
			return true
		}
		// The numbers are ObjectMeta's.
		_ = protoFields(value, func(field int, value []byte) bool {
			switch field {
			case 1:
				id.Key.Name = string(value)
			case 3:
				id.Key.Namespace = string(value)
			case 5:
				id.UID = types.UID(value)
			case 6:
				id.Version = string(value)
			}
			return true
		})
		return true
	})
	return id.named()
}

func (protobuf) EmptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error) {
	meta, err := lm.Marshal()
	if err != nil {
		return nil, err
	}
	// Every list has its ListMeta as field 1.
	list := binary.AppendUvarint([]byte{1<<3 | wireBytes}, uint64(len(meta)))
	unknown := runtime.Unknown{Raw: append(list, meta...)}
	unknown.APIVersion, unknown.Kind = gvk.ToAPIVersionAndKind()
	body, err := unknown.Marshal()
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(protoMagic), body...), nil
}

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
