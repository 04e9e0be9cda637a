package source

import (
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

var (
	// ErrNoAnswers: the source cannot make an item of the answer to a write.
	ErrNoAnswers = errors.New("the source cannot read the answers to writes")
	// ErrNotCovered: an object that was written is not in the source's
	// collection, or it is unknown whether it is.
	ErrNotCovered = errors.New("not covered by the collection")
)

// Answer is a server's answer to a create, an update, a patch or an apply: the
// object as a client has decoded it, the body as it came, or the metadata in it.
type Answer struct {
	// Object is of the type that the source decodes into. It is copied.
	Object any
	// Metadata is read if Object is nil. It is for an answer of another type or version:
	// see Written.Unread. NoLabels: its labels are not the object's, as in a scale.
	Metadata *metav1.ObjectMeta
	NoLabels bool
	// Body is read if both are nil: one object in JSON or protobuf. It is of
	// the group and version of Resource.
	Body []byte
	// Resource is the request's; empty if that is not known.
	Resource schema.GroupVersionResource
}

// of returns the resource of an answer; empty if it is not known. own is the source's.
func (a *Answer) of(own schema.GroupVersionResource) schema.GroupResource {
	if a.Resource.Resource == "" {
		return own.GroupResource()
	}
	return a.Resource.GroupResource()
}

// Written is what a source makes of an Answer.
type Written[T any] struct {
	// Item is the object as List or Watch would send it, without a memo.
	Item[T]
	Coverage Coverage
	// Unread: the source cannot tell what the write left in the collection, because it
	// has only metadata, or a field selector that it cannot evaluate. Item has no object.
	Unread bool
	// Gone: the object exists no more. It was deleted, and the write removed the
	// last of its finalizers.
	Gone bool
}

// AnswerReader is implemented by a source that reads the answers to writes.
type AnswerReader[T any] interface {
	// ReadAnswer returns the object in an answer as List or Watch would have sent it:
	// without dropped fields, transformed, and in memory of its own. It may be called at
	// any time and from any goroutine. The error is an *ItemError or a *KindError that
	// names what is wrong with the object, or wraps ErrNotCovered if the object is in
	// another namespace than the collection.
	ReadAnswer(a Answer) (Written[T], error)
}

// ReadAnswer makes src read an answer, or returns ErrNoAnswers if it is no AnswerReader.
func ReadAnswer[T any](src Source[T], a Answer) (Written[T], error) {
	if reader, ok := src.(AnswerReader[T]); ok {
		return reader.ReadAnswer(a)
	}
	return Written[T]{}, ErrNoAnswers
}

func (s *restSource[T]) ReadAnswer(a Answer) (Written[T], error) {
	of := a.of(s.traits.Resource)
	if a.Object == nil && a.Metadata != nil {
		return unreadWrite[T](&a, of, &s.opts, Covered)
	}
	item, err := s.dec.codec.answer(a)
	if err != nil {
		return Written[T]{}, err
	}
	return written(&a, item, &s.opts, of, Covered)
}

// ReadAnswer implements AnswerReader. It never returns Covered unless Options.Narrows is set: the closures may narrow
// the collection.
func (s *lwSource[T]) ReadAnswer(a Answer) (Written[T], error) {
	opts, most := s.collection(), CoverageUnknown
	if s.opts.Narrows != nil {
		most = Covered
	}
	_, requested := s.interception.known()
	of := a.of(requested)
	if a.Object == nil && a.Metadata != nil {
		return unreadWrite[T](&a, of, opts, most)
	}
	var item Item[T]
	var err error
	if a.Object != nil {
		var obj T
		if obj, err = copied[T](a.Object, &s.want); err == nil {
			item = ItemOf(obj)
		}
	} else {
		var codec *codec[T]
		if codec, err = newCodec[T](a.Resource.GroupVersion(), &s.opts); err == nil {
			item, err = codec.answer(a)
		}
	}
	if err != nil {
		return Written[T]{}, err
	}
	return written(&a, item, opts, of, most)
}

// ReadObject implements AnswerReader for a source that has objects and no
// bytes: it returns a copy of the answer's object, or ErrNoAnswers if there is a
// body alone. The collection is one without namespace and selectors, so every
// object of type T is covered.
func ReadObject[T any](a Answer) (Written[T], error) {
	if a.Object == nil {
		return Written[T]{}, ErrNoAnswers
	}
	obj, err := copied[T](a.Object, &expected{typ: reflect.TypeFor[T]()})
	if err != nil {
		return Written[T]{}, err
	}
	return written(&a, ItemOf(obj), &Options{}, a.Resource.GroupResource(), Covered)
}

// ReadAnswer implements AnswerReader. The object in the answer is a W.
func (m *mapped[W, T]) ReadAnswer(a Answer) (Written[T], error) {
	w, err := ReadAnswer(m.src, a)
	if err != nil {
		return Written[T]{}, err
	}
	if w.Unread {
		return Written[T]{Item: withoutObject[T](&w.Item), Coverage: w.Coverage, Gone: w.Gone, Unread: true}, nil
	}
	m.mu.Lock()
	item := m.item(&w.Item, nil, nil)
	m.mu.Unlock()
	return Written[T]{Item: item, Coverage: w.Coverage, Gone: w.Gone}, item.Err
}

// copied returns a copy of an object that a client has decoded, without dropped fields.
func copied[T any](obj any, want *expected) (T, error) {
	var none T
	ro, ok := obj.(runtime.Object)
	if _, is := obj.(T); !ok || !is {
		return none, &KindError{WantType: want.typ, GotType: reflect.TypeOf(obj)}
	}
	if isNil(ro) {
		return none, fmt.Errorf("a nil %T", obj)
	}
	if err := want.check(ro); err != nil {
		return none, err
	}
	c, err := official.Copy(ro)
	if err != nil {
		return none, err
	}
	if want.selection != nil {
		if err := want.selection.reduce(c); err != nil {
			return none, err
		}
	}
	return c.(T), nil
}

// answer returns the item of an answer, without dropped fields.
func (c *codec[T]) answer(a Answer) (it Item[T], err error) {
	r := c.reader(nil)
	switch {
	case a.Object != nil:
		var obj T
		if obj, err = copied[T](a.Object, &expected{typ: reflect.PointerTo(c.kind.elem), selection: &c.selection}); err != nil {
			return it, err
		}
		if gvk := objectKind(obj); !gvk.Empty() && c.kind.form != metadataOnly {
			if err := c.kind.check(gvk); err != nil {
				return it, err
			}
		}
		it = ItemOf(obj)
	case len(a.Body) == 0:
		err = errors.New("an answer without content")
	default:
		enc := encoding.Of(a.Body[0])
		if enc == nil {
			return it, fmt.Errorf("%w: %s", ErrEncoding, encoding.Glimpse(a.Body))
		}
		if !c.kind.reads(enc) {
			return it, fmt.Errorf("%w: %w", ErrNoAnswers, formats.ErrNone)
		}
		var o encoding.Object
		if o, err = enc.Object(a.Body); err == nil {
			it = r.watched(enc, o)
		}
	}
	if err == nil && it.Err == nil && a.Object == nil && c.kind.form == metadataOnly && c.kind.marks() && c.kind.named.Empty() {
		// The whole object came, with its own kind. Metadata has another.
		setKind(it.Object, partialKind)
	}
	it.Memo = nil
	return it, err
}

// written adds the coverage of an answer's item, and whether it is gone. most is the
// coverage of an object that the options select. of is its resource.
func written[T any](a *Answer, item Item[T], opts *Options, of schema.GroupResource, most Coverage) (Written[T], error) {
	w := Written[T]{Item: item}
	if item.Err != nil {
		return w, item.Err
	}
	m, err := accessor(item.Object)
	if err != nil {
		return w, err
	}
	w.Gone = objectmeta.Gone(item.Object, m, of)
	if w.Coverage, err = opts.covers(m, fieldsOf(a, item.Object), most); err == nil && item.Key == (store.Key{}) {
		err = &NamelessError{item.Object}
	}
	if most == Covered && w.Coverage == CoverageUnknown {
		var none T
		w.Object, w.Unread = none, true
	}
	return w, err
}

// unreadWrite returns the write of an object of which only the metadata is known.
func unreadWrite[T any](a *Answer, of schema.GroupResource, opts *Options, most Coverage) (w Written[T], err error) {
	m := a.Metadata
	w.Key, w.UID, w.ResourceVersion = store.Key{Namespace: m.Namespace, Name: m.Name}, m.UID, m.ResourceVersion
	w.Unread = true
	w.Gone = objectmeta.Gone(m, m, of)
	by := *opts
	if a.NoLabels {
		by.LabelSelector = ""
	}
	if w.Coverage, err = by.covers(m, nil, most); a.NoLabels && w.Coverage == Covered {
		w.Coverage = CoverageUnknown
	}
	return w, err
}

var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// Deletion is a server's answer to the delete of one object.
type Deletion struct {
	// Status: the answer is a Status; else it is the object.
	Status bool
	// Gone: the object exists no more. It was not only marked for deletion.
	Gone bool
	// UID is the object's, if the answer has it. Version is one at which it existed, or
	// ceased to, if the answer is the object.
	UID     types.UID
	Version string
}

// DeleteAnswer reads a server's answer to the delete of one object, or to a write that may
// have removed it: a Status, or the object. An object that was only marked for deletion comes
// as it is now.
func DeleteAnswer(of schema.GroupResource, body []byte) (d Deletion) {
	gvk, st, m := readDeleted(body)
	switch {
	case gvk == encoding.StatusKind:
		d.Status, d.Gone = true, st.Status == metav1.StatusSuccess
		if d.Gone && st.Details != nil {
			d.UID = st.Details.UID
		}
	case m != nil:
		grace := m.DeletionGracePeriodSeconds
		d.Gone = len(m.Finalizers) == 0 && (grace == nil || *grace == 0)
		if of == corev1.Resource("namespaces") {
			d.Gone = gvk == namespaceKind && namespaceGone(body)
		}
		d.UID, d.Version = m.UID, m.ResourceVersion
	}
	return d
}

// namespaceGone reports whether an answer with a whole namespace tells that a write removed
// it. It has finalizers in its spec, too, which metadata alone does not have.
func namespaceGone(body []byte) bool {
	var ns corev1.Namespace
	enc := encoding.Of(body[0])
	o, err := enc.Object(body)
	return err == nil && enc.Unmarshal(o.Raw, &ns) == nil && objectmeta.Gone(&ns, &ns, corev1.Resource("namespaces"))
}

// readDeleted decodes as much as DeleteAnswer needs.
func readDeleted(body []byte) (gvk schema.GroupVersionKind, st metav1.Status, m *metav1.ObjectMeta) {
	none := schema.GroupVersionKind{}
	if len(body) == 0 || encoding.Of(body[0]) == nil {
		return none, st, nil
	}
	enc := encoding.Of(body[0])
	o, err := enc.Object(body)
	if err != nil {
		return none, st, nil
	}
	var p metav1.PartialObjectMetadata
	switch gvk = encoding.KindOf(enc, o); {
	case gvk == encoding.StatusKind && enc.Unmarshal(o.Raw, &st) == nil:
		return gvk, st, nil
	case gvk == encoding.StatusKind, gvk.Kind == "", enc.Unmarshal(o.Raw, &p) != nil:
		return none, st, nil // it cannot be read as an object
	}
	return gvk, st, &p.ObjectMeta
}

// RequestVersion returns the resource version that the body of a write names, which the server
// compares with that of the object. It is empty if there is none, or the body cannot be read.
func RequestVersion(body []byte) string {
	if len(body) == 0 || encoding.Of(body[0]) == nil {
		return ""
	}
	enc := encoding.Of(body[0])
	var p metav1.PartialObjectMetadata
	if o, err := enc.Object(body); err != nil || enc.Unmarshal(o.Raw, &p) != nil {
		return ""
	}
	return p.ResourceVersion
}

// AnswerMetadata returns the metadata of the object that a server answered a write with,
// or of each object of a list. It returns nil for a Status, and for an answer that it
// cannot read.
func AnswerMetadata(body []byte) []metav1.ObjectMeta {
	_, _, m := readDeleted(body)
	switch {
	case m == nil:
		return nil
	case m.Name != "": // a list has none
		return []metav1.ObjectMeta{*m}
	}
	enc := encoding.Of(body[0])
	o, err := enc.Object(body)
	var list metav1.PartialObjectMetadataList
	if err != nil || enc.Unmarshal(o.Raw, &list) != nil {
		return nil
	}
	all := make([]metav1.ObjectMeta, len(list.Items))
	for i := range list.Items {
		all[i] = list.Items[i].ObjectMeta
	}
	return all
}
