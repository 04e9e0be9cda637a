package source

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// isStatus reports whether err says that a Status came where an object was
// due.
func isStatus(err error) bool {
	k, ok := errors.AsType[*KindError](err)
	return ok && k.Got == statusKind
}

// identified is an item of which only the identity is of interest.
func identified[T any](id identity) Item[T] {
	return Item[T]{Key: id.key, UID: id.uid, ResourceVersion: id.version}
}

// noObject turns e, whose type is known, into an event without an object.
func (e *Event[T]) noObject(got []byte) {
	err := fmt.Errorf("%s with no object in it: %s", e.Type, glimpse(got))
	t := Unknown
	if e.Type == Error {
		t = Error
		err = fmt.Errorf("%w: no object in it: %s", ErrNoStatus, glimpse(got))
	}
	*e = Event[T]{Type: t}
	e.Err = err
}

// bookmark turns e into a bookmark at m, or into an unknown event if err says
// that m is none. Those of hand-made watches may have no version: what ends the
// initial events is the annotation alone.
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

// keptEvents is how many events a batch that outlives its delivery may have
// room for: little enough for a thousand idle watches.
const keptEvents = 8

// reuse empties a batch that was delivered, so that it keeps no object alive,
// and drops one that only a burst needs.
func reuse[T any](batch []Event[T]) []Event[T] {
	if cap(batch) > keptEvents {
		return nil
	}
	clear(batch)
	return batch[:0]
}
