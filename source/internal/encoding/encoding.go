// Package encoding reads the encodings of API servers: JSON and protobuf. It
// finds lists, events and objects in a response, and reads their kinds and
// identities from the bytes. It does not decode objects of T: the codec of package
// source does, through internal/wire.
//
// # What lives here
//
//   - Encoding: one of All, the two. Of recognises a response by its first byte,
//     OfMediaType by its Content-Type.
//   - Window: the part of a response that was read and not yet consumed. It
//     grows with what arrives, never with what a length announces.
//   - List: what an Encoding reports of a list while it reads it.
//   - json: an object has its kind in its own members, which may come in any order.
//   - protobuf: the kind is next to the object, in an envelope.
//
// Nothing here starts a goroutine or keeps state between responses. Encodings
// are safe for concurrent use; a Window, a Frames and a List belong to one
// goroutine.
package encoding

import (
	"errors"
	"fmt"
	"mime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/store"
)

// Encoding is one way in which servers encode lists, events and objects.
type Encoding interface {
	// Format is the encoding of single objects, as internal/wire names it.
	Format() formats.Format
	// MediaType is the type in Accept headers and in those of responses.
	MediaType() string

	// List reads a list from w until its end.
	List(w *Window, l *List) error
	// Frames returns a Frames for the events of one watch.
	Frames() Frames
	// Event reads an event from its frame. An error means that the frame is no
	// event; an error of its object is in Event.Err.
	Event(frame []byte) (Event, error)
	// Prefix recognises an event in the form in which servers write most of
	// them, without looking for the end of its object.
	Prefix(frame []byte) (p Prefix, ok bool)

	// Object reads a response that is one object.
	Object(raw []byte) (Object, error)
	// Item reads an item of a list.
	Item(raw []byte) (Object, error)
	// Kind reads an object's own kind. It is empty if its bytes do not have it,
	// as in protobuf.
	Kind(raw []byte) schema.GroupVersionKind
	// FirstKind is Kind for an object without duplicate names. It stops when it
	// has both apiVersion and kind.
	FirstKind(raw []byte) schema.GroupVersionKind
	// Identity reads as much as it finds of the identity of an object that could
	// not be decoded.
	Identity(raw []byte) Identity
	// Unmarshal decodes an object into one of apimachinery's own types.
	Unmarshal(raw []byte, into Meta) error
	// EmptyList encodes a list without items.
	EmptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error)
}

// Meta is a type that Unmarshal decodes into: *metav1.Status or
// *metav1.PartialObjectMetadata.
type Meta interface {
	runtime.Object
	Unmarshal(raw []byte) error
}

// Object is an object's bytes.
type Object struct {
	// Raw is the object, in protobuf without its envelope. It aliases what it
	// was read from.
	Raw []byte
	// Kind is the kind in its envelope. JSON has it in Raw.
	Kind schema.GroupVersionKind
	// Enveloped reports that Kind is set.
	Enveloped bool
}

// KindOf returns an object's kind: the one in its envelope, or else its own.
func KindOf(e Encoding, o Object) schema.GroupVersionKind {
	if o.Enveloped {
		return o.Kind
	}
	return e.Kind(o.Raw)
}

// Event is a watch event.
type Event struct {
	// Type is the type as on the wire.
	Type   string
	Object Object
	// Bare reports that the frame is a Status instead of an event: the Status is
	// the Object.
	Bare bool
	// Err reports that Object.Raw is no object.
	Err error
}

// Prefix is the beginning of an event whose end is not known yet.
type Prefix struct {
	Type string
	// Rest starts with the object.
	Rest []byte
	// Ends reports whether tail, what follows the object in Rest, is the end of
	// the event and nothing else.
	Ends func(tail []byte) bool
}

// Frame is the place of an event. Raw is the event's bytes; End is the offset of
// its end in the unread bytes.
type Frame struct {
	Raw []byte
	End int
}

// Identity distinguishes an object from all others, as far as it is known.
type Identity struct {
	// Key is zero if there is no name.
	Key     store.Key
	UID     types.UID
	Version string
}

// named empties the key of an identity without a name.
func (id Identity) named() Identity {
	if id.Key.Name == "" {
		id.Key = store.Key{}
	}
	return id
}

// List is what a List call reports, in the order of the stream.
type List struct {
	// Kind is the list's own kind, as far as it was read.
	Kind schema.GroupVersionKind
	Meta metav1.ListMeta
	// Items reports that the list has a member for its items, as far as it was read. It
	// is set for JSON only: in protobuf an empty list has none.
	Items bool
	// Check is called once Kind is complete.
	Check func(schema.GroupVersionKind) error
	// Item is called for each item, which is the next n unread bytes, and
	// consumes them.
	Item func(n int) error
	// Flush is called after the last item.
	Flush func()
	// Status is called with a Status that came instead of a list. It returns the
	// error that List is to return.
	Status func(*metav1.Status) error
}

// The encodings of Kubernetes.
var (
	JSON     Encoding = json{}
	Protobuf Encoding = protobuf{}
	// All has them in the order in which they are asked for.
	All = [...]Encoding{Protobuf, JSON}
)

// Of returns the encoding of a response by its first byte, or nil. In protobuf, a list
// starts with "k8s\x00" and a watch's frame with the high byte of a length, which
// Options.MaxObjectBytes keeps below '\t', the smallest byte that JSON can begin with.
func Of(first byte) Encoding {
	switch {
	case first == protoMagic[0] || first < '\t':
		return Protobuf
	case first == '{' || isSpace(first):
		return JSON
	}
	return nil
}

// OfMediaType returns the encoding of a response by its Content-Type, which may
// have parameters, or nil.
func OfMediaType(contentType string) Encoding {
	media, _, err := mime.ParseMediaType(contentType)
	for _, e := range All {
		if err == nil && media == e.MediaType() {
			return e
		}
	}
	return nil
}

// StatusKind is the kind that a server sends instead of an object.
var StatusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// Glimpse describes bytes that may be an object's. It quotes only the first: a
// reader of logs may not be allowed to read Secrets.
func Glimpse(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%q and %d bytes more", b[0], len(b)-1)
}

// Excerpt is the start of b, for an error. b must not be an object's.
func Excerpt(b []byte) []byte { return b[:min(len(b), 64)] }

// ErrEncoding reports a response, or an object, in another encoding.
var ErrEncoding = errors.New("neither JSON nor protobuf")

// MalformedError reports bytes that violate the format: package source documents it.
type MalformedError struct {
	What   string
	Offset int64
	Err    error
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("malformed %s at byte %d: %v", e.What, e.Offset, e.Err)
}

// Unwrap returns what went wrong.
func (e *MalformedError) Unwrap() error { return e.Err }

// TooLargeError reports an object of more bytes than the limit: package source documents it.
type TooLargeError struct{ Bytes, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("an object of at least %d bytes, more than the limit of %d that the option MaxObjectBytes sets", e.Bytes, e.Limit)
}
