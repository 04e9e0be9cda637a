package encoding

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

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

// Starts implements Encoding. A list starts with "k8s\x00", a watch's frame with
// the high byte of a length, which Options.MaxObjectBytes keeps below '\t'.
func (protobuf) Starts(first byte) bool { return first == protoMagic[0] || first < '\t' }

func (protobuf) Frames() Frames                           { return protoFrames{} }
func (protobuf) Prefix([]byte) (Prefix, bool)             { return Prefix{}, false }
func (protobuf) Kind([]byte) schema.GroupVersionKind      { return schema.GroupVersionKind{} }
func (protobuf) FirstKind([]byte) schema.GroupVersionKind { return schema.GroupVersionKind{} }
func (protobuf) Item(raw []byte) (Object, error)          { return Object{Raw: raw}, nil }
func (protobuf) Unmarshal(raw []byte, into Meta) error    { return into.Unmarshal(raw) }

// protoFrames are a length in four bytes, then a WatchEvent.
type protoFrames struct{}

// Next implements Frames.
func (protoFrames) Next(w *Window, from int) (f Frame, ok bool, err error) {
	const header = 4
	b := w.Unread()[from:]
	if len(b) < header {
		return f, false, nil
	}
	size := binary.BigEndian.Uint32(b)
	if err := w.Fits(uint64(size)); err != nil {
		return f, false, err
	}
	b = b[header:]
	if uint64(len(b)) < uint64(size) {
		return f, false, nil
	}
	return Frame{Raw: b[:size:size], End: from + header + int(size)}, true, nil
}

// Whole implements Frames.
func (protoFrames) Whole([]byte) bool { return true }

// Reconsider implements Frames.
func (protoFrames) Reconsider() bool { return false }

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
	if err == nil {
		err = bad
	}
	if err != nil {
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
	if err == nil {
		err = bad
	}
	o.Kind, o.Enveloped = schema.FromAPIVersionAndKind(tm.APIVersion, tm.Kind), true
	return o, err
}

// Other implements Encoding. It decodes only the metadata, if it can.
func (protobuf) Other(o Object) (runtime.Object, error) {
	other := &metav1.PartialObjectMetadata{}
	_ = other.Unmarshal(o.Raw)
	other.SetGroupVersionKind(o.Kind)
	return other, nil
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

// EmptyList implements Encoding.
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
