package source

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// eventType reads a type as it is on the wire.
func eventType(name string) EventType {
	switch name {
	case "ADDED":
		return Added
	case "MODIFIED":
		return Modified
	case "DELETED":
		return Deleted
	case "BOOKMARK":
		return Bookmark
	case "ERROR":
		return Error
	}
	return Unknown
}

func unknownType(name string) error { return fmt.Errorf("an event of unknown type %q", name) }

// event decodes a frame of a watch into e. An error means that the frame is no
// event; every other failure is in e.
func (r *reader[T]) event(enc encoding.Encoding, frame []byte, e *Event[T]) error {
	ev, err := enc.Event(frame)
	if err != nil {
		return err
	}
	e.Type = eventType(ev.Type)
	o := ev.Object
	switch {
	case ev.Bare:
		errorEvent(enc, o, e)
	case e.Type == Unknown:
		e.Item = identified[T](enc.Identity(o.Raw))
		e.Err = unknownType(ev.Type)
	case ev.Err != nil:
		e.noObject(o.Raw)
	case e.Type == Error || o.Kind == encoding.StatusKind:
		errorEvent(enc, o, e)
	case e.Type == Bookmark:
		r.bookmark(enc, o, e)
	default:
		item := r.watched(enc, o)
		if isStatus(item.Err) {
			errorEvent(enc, o, e)
			return nil
		}
		e.Item = item
	}
	return nil
}

// usualEvent decodes a frame of the form that servers write, without first
// looking for the end of the object. It returns false if it cannot.
func (r *reader[T]) usualEvent(enc encoding.Encoding, frame []byte, e *Event[T]) bool {
	p, ok := enc.Prefix(frame)
	if !ok || r.wire == nil {
		return false
	}
	obj, n, err := r.prefix(enc, p.Rest)
	if err != nil || !p.Ends(p.Rest[n:]) {
		return false
	}
	raw := p.Rest[:n]
	d := r.withKind(enc, obj, encoding.Object{Raw: raw}, schema.GroupVersionKind{})
	item := r.ofWatch(enc, d, nil, raw)
	if item.Err != nil {
		return false
	}
	e.Type, e.Item = eventType(p.Type), item
	return true
}

// bookmark decodes the metadata of a bookmark's object.
func (r *reader[T]) bookmark(enc encoding.Encoding, o encoding.Object, e *Event[T]) {
	var at metav1.PartialObjectMetadata
	var err error
	if o.Enveloped {
		err = r.kind.check(o.Kind)
	}
	if err == nil {
		err = enc.Unmarshal(o.Raw, &at)
	}
	if err == nil && !o.Enveloped {
		gvk := enc.Kind(o.Raw)
		if gvk == encoding.StatusKind {
			errorEvent(enc, o, e)
			return
		}
		err = r.kind.check(gvk)
	}
	e.bookmark(&at.ObjectMeta, err)
}

// errorEvent makes e an Error event with the Status, or whatever else the server
// sent instead of an object.
func errorEvent[T any](enc encoding.Encoding, o encoding.Object, e *Event[T]) {
	e.Type = Error
	if encoding.KindOf(enc, o) == encoding.StatusKind {
		var status metav1.Status
		if err := enc.Unmarshal(o.Raw, &status); err != nil {
			e.Err = fmt.Errorf("a status that cannot be decoded: %w: %q", err, encoding.Excerpt(o.Raw))
			return
		}
		e.Err = statusError(&status)
		return
	}
	other, err := enc.Other(o)
	if err != nil {
		e.Err = fmt.Errorf("an error that cannot be decoded: %w: %s", err, encoding.Glimpse(o.Raw))
		return
	}
	e.Err = otherError(other)
}

// isStatus reports whether err is about a Status instead of an object.
func isStatus(err error) bool {
	k, ok := errtype.As[*KindError](err)
	return ok && k.Got == encoding.StatusKind
}

// identified returns an item that has only an identity.
func identified[T any](id encoding.Identity) Item[T] {
	return Item[T]{Key: id.Key, UID: id.UID, ResourceVersion: id.Version}
}

// noObject turns e, whose type is known, into an event without an object.
func (e *Event[T]) noObject(got []byte) {
	err := fmt.Errorf("%s with no object in it: %s", e.Type, encoding.Glimpse(got))
	t := Unknown
	if e.Type == Error {
		t = Error
		err = fmt.Errorf("%w: no object in it: %s", ErrNoStatus, encoding.Glimpse(got))
	}
	*e = Event[T]{Type: t}
	e.Err = err
}

// bookmark turns e into a bookmark at m, or into an Unknown event if err is set.
// Bookmarks of hand-made watches may have no version: only the annotation decides
// whether one ends the initial events.
func (e *Event[T]) bookmark(m metav1.Object, err error) {
	if err != nil {
		*e = Event[T]{Type: Unknown}
		e.Err = fmt.Errorf("%s: %w", Bookmark, err)
		return
	}
	*e = Event[T]{Type: Bookmark}
	e.ResourceVersion = m.GetResourceVersion()
	e.InitialEventsEnd = m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// keptEvents is the largest capacity of a batch that is kept for reuse: small
// enough for a thousand idle watches.
const keptEvents = 8

// reuse empties a delivered batch, so that it keeps no object alive, and drops
// one that grew in a burst.
func reuse[T any](batch []Event[T]) []Event[T] {
	if cap(batch) > keptEvents {
		return nil
	}
	clear(batch)
	return batch[:0]
}
