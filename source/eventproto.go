package source

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protoEvent decodes one frame of a protobuf watch: a WatchEvent with the
// type as field 1, and the object in a RawExtension as field 2. An error means
// that it is none; everything else is said by the event.
func protoEvent[T any](r *reader[T], frame []byte, e *Event[T]) error {
	if bytes.HasPrefix(frame, protoMagic) {
		// A whole object where an event was due; only a Status means
		// something.
		o, err := readEnvelope(frame)
		if err == nil && o.is(statusKind) {
			protoError(o, e)
			return nil
		}
		return errNotProto
	}
	var name string
	var object []byte
	var bad error
	err := protoFields(frame, func(field int, value []byte) bool {
		switch field {
		case 1:
			name = string(value)
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
		return err
	}
	o, err := readEnvelope(object)
	e.Type = eventType(name)
	switch {
	case e.Type == Unknown:
		e.Item = identified[T](protoIdentity(o.raw))
		e.Err = unknownType(name)
	case err != nil:
		e.noObject(object)
	case e.Type == Error || o.is(statusKind):
		protoError(o, e)
	case e.Type == Bookmark:
		// The object's own metadata is its field 1, whatever its type.
		var at metav1.PartialObjectMetadata
		err := r.kind.check(o.kind())
		if err == nil {
			err = at.Unmarshal(o.raw)
		}
		e.bookmark(&at.ObjectMeta, err)
	default:
		e.Item = r.fromProto(o.raw, o.tm)
	}
	return nil
}

// protoError makes e what the server sent in place of an object.
func protoError[T any](o envelope, e *Event[T]) {
	e.Type = Error
	if o.is(statusKind) {
		var status metav1.Status
		if err := status.Unmarshal(o.raw); err != nil {
			e.Err = fmt.Errorf("a status that cannot be decoded: %w", err)
			return
		}
		e.Err = statusError(&status)
		return
	}
	other := &metav1.PartialObjectMetadata{}
	// Its metadata, if that can be read, is all there is to say about it.
	_ = other.Unmarshal(o.raw)
	other.SetGroupVersionKind(o.kind())
	e.Err = otherError(other)
}

// envelope is one object with its kind around it, as a watch has them.
type envelope struct {
	tm  runtime.TypeMeta
	raw []byte
}

// readEnvelope takes a message apart. What it returns aliases msg.
func readEnvelope(msg []byte) (envelope, error) {
	var o envelope
	if !bytes.HasPrefix(msg, protoMagic) {
		return o, fmt.Errorf("%w: %s", errNotProto, glimpse(msg))
	}
	var bad error
	err := protoFields(msg[len(protoMagic):], func(field int, value []byte) bool {
		switch field {
		case 1:
			bad = o.tm.Unmarshal(value)
		case 2:
			o.raw = value
		}
		return bad == nil
	})
	if err == nil {
		err = bad
	}
	return o, err
}

func (o envelope) kind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.tm.APIVersion, o.tm.Kind)
}

func (o envelope) is(gvk schema.GroupVersionKind) bool { return o.kind() == gvk }
