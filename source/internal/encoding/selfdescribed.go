package encoding

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
)

// syntax is how a self-described encoding writes objects, lists and text.
type syntax interface {
	format() formats.Format
	mediaType() string
	streamType() string
	starts(first byte) bool

	// members calls visit with each member of the object raw, in order, until
	// visit returns false. Both arguments alias raw. It visits the members before
	// a syntax error.
	members(raw []byte, visit func(name, value []byte) bool) error
	// unique reports that a name must not occur twice. Otherwise the last counts.
	unique() bool
	// object reports whether value is an object.
	object(value []byte) bool
	// text returns the text of a value, if it is one.
	text(value []byte) (string, bool)
	// join encodes an object of members.
	join(members []member) []byte
	unmarshal(raw []byte, into Meta) error
	untyped(raw []byte) (map[string]any, error)
	emptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error)

	reader(w *Window) valueReader
	frames() Frames
	prefix(frame []byte) (Prefix, bool)
}

// valueReader reads the values of one object from a Window.
type valueReader interface {
	// openObject consumes the beginning of the object.
	openObject() error
	// name consumes the name of the next member, and the separator before its
	// value. It is not ok at the end of the object, which it consumes.
	name() (name string, ok bool, err error)
	// openArray consumes the beginning of an array. It is not ok if there is a
	// null instead, which it consumes.
	openArray() (ok bool, err error)
	// element reports whether the array has another element, which is then next.
	// Otherwise it consumes the end of the array.
	element() (bool, error)
	// value reads until the next value is unread in full. It returns the value
	// and consumes nothing.
	value() ([]byte, error)
	// end returns an error if anything follows the object.
	end() error
}

// member is a member of an object. Its value is encoded.
type member struct {
	name  string
	value []byte
}

// selfDescribed is an encoding in which an object has its kind in its own
// members.
type selfDescribed struct{ syntax }

func (s selfDescribed) Format() formats.Format                { return s.format() }
func (s selfDescribed) MediaType() string                     { return s.mediaType() }
func (s selfDescribed) StreamType() string                    { return s.streamType() }
func (s selfDescribed) Starts(first byte) bool                { return s.starts(first) }
func (s selfDescribed) Frames() Frames                        { return s.frames() }
func (s selfDescribed) Prefix(frame []byte) (Prefix, bool)    { return s.prefix(frame) }
func (s selfDescribed) Object(raw []byte) (Object, error)     { return s.Item(raw) }
func (s selfDescribed) Unmarshal(raw []byte, into Meta) error { return s.unmarshal(raw, into) }

func (s selfDescribed) EmptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error) {
	return s.emptyList(gvk, lm)
}

// Event implements Encoding.
func (s selfDescribed) Event(frame []byte) (Event, error) {
	var e Event
	var typ, object []byte
	twice := false
	err := s.members(frame, func(name, value []byte) bool {
		switch string(name) {
		case "type":
			twice = twice || typ != nil
			typ = value
			e.Type, _ = s.text(value)
		case "object":
			twice = twice || object != nil
			object = value
		}
		return true
	})
	switch {
	case err != nil:
		return e, err
	case twice && s.unique():
		return e, errTwice
	case typ == nil && s.Kind(frame) == StatusKind:
		e.Object.Raw, e.Bare = frame, true
	case !s.object(object):
		e.Object.Raw, e.Err = object, errNoObject
	default:
		e.Object.Raw = object
	}
	return e, nil
}

var (
	errNoObject = errors.New("not an object")
	errTwice    = errors.New("a name that stands twice")
)

// Item implements Encoding.
func (s selfDescribed) Item(raw []byte) (Object, error) {
	if !s.object(raw) {
		return Object{}, fmt.Errorf("%w: %s", errNoObject, Glimpse(raw))
	}
	return Object{Raw: raw}, nil
}

// Kind implements Encoding. As in every decoder, the last apiVersion and the last
// kind that are text count.
func (s selfDescribed) Kind(raw []byte) schema.GroupVersionKind {
	var apiVersion, kind string
	_ = s.members(raw, func(name, value []byte) bool {
		switch string(name) {
		case "apiVersion":
			if text, ok := s.text(value); ok {
				apiVersion = text
			}
		case "kind":
			if text, ok := s.text(value); ok {
				kind = text
			}
		}
		return true
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// FirstKind implements Encoding.
func (s selfDescribed) FirstKind(raw []byte) schema.GroupVersionKind {
	var apiVersion, kind string
	_ = s.members(raw, func(name, value []byte) bool {
		switch string(name) {
		case "apiVersion":
			apiVersion, _ = s.text(value)
		case "kind":
			kind, _ = s.text(value)
		}
		return apiVersion == "" || kind == ""
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// Other implements Encoding.
func (s selfDescribed) Other(o Object) (runtime.Object, error) {
	m, err := s.untyped(o.Raw)
	return &unstructured.Unstructured{Object: m}, err
}

// Identity implements Encoding.
func (s selfDescribed) Identity(raw []byte) Identity {
	var id Identity
	// The error is known already; the members before it count.
	_ = s.members(raw, func(name, value []byte) bool {
		if string(name) != "metadata" {
			return true
		}
		id = Identity{}
		_ = s.members(value, func(name, value []byte) bool {
			text, ok := s.text(value)
			if !ok {
				return true
			}
			switch string(name) {
			case "name":
				id.Key.Name = text
			case "namespace":
				id.Key.Namespace = text
			case "uid":
				id.UID = types.UID(text)
			case "resourceVersion":
				id.Version = text
			}
			return true
		})
		return true
	})
	return id.named()
}

// maxOtherBytes bounds the copies of a list's members other than its items.
// They are needed only if the "list" turns out to be a Status.
const maxOtherBytes = 64 << 10

// List implements Encoding. The members may come in any order: lists of custom
// resources have kind and metadata after the items.
func (s selfDescribed) List(w *Window, l *List) error {
	r := s.reader(w)
	if err := r.openObject(); err != nil {
		return err
	}
	var apiVersion, kind string
	var others []member
	size, hasItems, seen := 0, false, map[string]bool{}
	for {
		name, ok, err := r.name()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch name {
		case "items", "metadata", "kind", "apiVersion":
			if seen[name] && s.unique() {
				return w.Malformed("list", "%w: %q", errTwice, name)
			}
			seen[name] = true
		}
		if name == "items" {
			hasItems = true
			if apiVersion != "" && kind != "" && l.Kind != StatusKind {
				if err := l.Check(l.Kind); err != nil {
					return err
				}
			}
			if err := s.items(w, r, l); err != nil {
				return err
			}
			continue
		}
		raw, err := r.value()
		if err != nil {
			return err
		}
		switch name {
		case "apiVersion":
			apiVersion, _ = s.text(raw)
		case "kind":
			kind, _ = s.text(raw)
		case "metadata":
			if err := s.listMeta(raw, &l.Meta); err != nil {
				// A Status has metadata too.
				return w.Malformed("list metadata", "%w", err)
			}
		}
		if !hasItems && size+len(name)+len(raw) < maxOtherBytes {
			size += len(name) + len(raw)
			others = append(others, member{name, append([]byte(nil), raw...)})
		}
		w.Consume(len(raw))
		l.Kind = schema.FromAPIVersionAndKind(apiVersion, kind)
	}
	switch err := r.end(); {
	case err != nil:
		return err
	case l.Kind == StatusKind:
		var status metav1.Status
		if err := s.unmarshal(s.join(others), &status); err != nil {
			return w.Malformed("status in place of a list", "%w", err)
		}
		return l.Status(&status)
	case !hasItems && l.Kind.Empty():
		return w.Malformed("list", "neither kind nor items")
	}
	return nil
}

// listMeta decodes a list's metadata into lm, as part of a list without items.
func (s selfDescribed) listMeta(raw []byte, lm *metav1.ListMeta) error {
	var list metav1.PartialObjectMetadataList
	list.ListMeta = *lm
	err := s.unmarshal(s.join([]member{{"metadata", raw}}), &list)
	*lm = list.ListMeta
	return err
}

// items reads the array of items, one by one.
func (s selfDescribed) items(w *Window, r valueReader, l *List) error {
	if ok, err := r.openArray(); err != nil || !ok {
		return err
	}
	for {
		more, err := r.element()
		if err != nil {
			return err
		}
		if !more {
			l.Flush()
			return nil
		}
		raw, err := r.value()
		if err != nil {
			return err
		}
		if err := l.Item(len(raw)); err != nil {
			return err
		}
	}
}
