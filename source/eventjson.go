package source

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// jsonEvent decodes one frame of a JSON watch. An error means that the frame
// is no JSON object; everything else is said by the event.
func jsonEvent[T any](r *reader[T], frame []byte, e *Event[T]) error {
	var typ, object []byte
	var name string
	err := members(frame, func(member, value []byte) bool {
		switch string(member) {
		case "type":
			typ = value
			name, _ = unquote(value)
		case "object":
			object = value
		}
		return true
	})
	if err != nil {
		return err
	}
	if typ == nil && jsonKind(frame) == statusKind {
		// A Status where an event was due.
		return jsonError(frame, e)
	}
	e.Type = eventType(name)
	switch {
	case e.Type == Unknown:
		e.Item = identified[T](jsonIdentity(object))
		e.Err = unknownType(name)
		return nil
	case len(object) == 0 || object[0] != '{':
		e.noObject(object)
		return nil
	case e.Type == Error:
		return jsonError(object, e)
	case e.Type == Bookmark:
		var at metav1.PartialObjectMetadata
		err := json.Unmarshal(object, &at)
		if err == nil && jsonKind(object) == statusKind {
			return jsonError(object, e)
		}
		if err == nil {
			err = r.kind.check(at.GroupVersionKind())
		}
		e.bookmark(&at.ObjectMeta, err)
		return nil
	}
	item := r.fromJSON(object)
	if isStatus(item.Err) {
		return jsonError(object, e)
	}
	e.Item = item
	return nil
}

// Events begin like this wherever they are written by Go's encoder. What
// follows is the object, and a bracket.
var plainEvents = [...]struct {
	prefix string
	typ    EventType
}{
	{`{"type":"ADDED","object":`, Added},
	{`{"type":"MODIFIED","object":`, Modified},
	{`{"type":"DELETED","object":`, Deleted},
}

// plainEvent decodes a frame as servers write them without looking for the
// object's end first, and returns false if that does not work out.
func (r *reader[T]) plainEvent(frame []byte, e *Event[T]) bool {
	if r.wire == nil {
		return false
	}
	for i := range plainEvents {
		p := &plainEvents[i]
		if len(frame) < len(p.prefix) || string(frame[:len(p.prefix)]) != p.prefix {
			continue
		}
		object := frame[len(p.prefix):]
		o, n, err := r.jsonPrefix(object)
		if err != nil {
			return false
		}
		if rest := object[n:]; len(rest) == 0 || rest[0] != '}' || 1+spaces(rest[1:]) != len(rest) {
			return false
		}
		item := r.watched(r.withKind(o, object[:n], schema.GroupVersionKind{}), nil, object[:n])
		if item.Err != nil {
			return false
		}
		e.Type, e.Item = p.typ, item
		return true
	}
	return false
}

// jsonError makes e what the server sent in place of an object.
func jsonError[T any](object []byte, e *Event[T]) error {
	e.Type = Error
	if jsonKind(object) == statusKind {
		var status metav1.Status
		if err := json.Unmarshal(object, &status); err != nil {
			e.Err = fmt.Errorf("a status that cannot be decoded: %w: %q", err, excerpt(object))
			return nil
		}
		e.Err = statusError(&status)
		return nil
	}
	var other unstructured.Unstructured
	if err := json.Unmarshal(object, &other.Object); err != nil {
		e.Err = fmt.Errorf("an error that cannot be decoded: %w: %s", err, glimpse(object))
		return nil
	}
	e.Err = otherError(&other)
	return nil
}
