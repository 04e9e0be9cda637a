package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
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
// object as a client has decoded it, or the body as it came.
type Answer struct {
	// Object is of the type that the source decodes into. It is copied.
	Object any
	// Body is read if Object is nil: one object in JSON or protobuf. It is of
	// the group and version of the request.
	Body         []byte
	GroupVersion schema.GroupVersion
}

// Coverage says whether an object is in a collection.
type Coverage uint8

const (
	// CoverageUnknown: it depends on what only the server knows, such as a field
	// selector beyond metadata.name and metadata.namespace.
	CoverageUnknown Coverage = iota
	// Covered: it is.
	Covered
	// NotCovered: it is not, because of its labels, name or namespace.
	NotCovered
)

// Written is what a source makes of an Answer.
type Written[T any] struct {
	// Item is the object as List or Watch would send it, without a memo.
	Item[T]
	Coverage Coverage
	// Gone: the object exists no more. It was deleted, and the write removed the
	// last of its finalizers.
	Gone bool
}

func (s *restSource[T]) readAnswer(a Answer) (Written[T], error) {
	item, err := s.dec.codec.answer(a, len(s.opts.Drop) > 0)
	if err != nil {
		return Written[T]{}, err
	}
	return written(item, &s.opts, Covered)
}

// readAnswer never returns Covered: the closures may narrow the collection.
func (s *lwSource[T]) readAnswer(a Answer) (Written[T], error) {
	var item Item[T]
	var err error
	if a.Object != nil && len(s.opts.Drop) == 0 {
		var obj T
		if obj, err = copied[T](a.Object, &s.want); err == nil {
			item = ItemOf(obj)
		}
	} else {
		var codec *codec[T]
		if codec, err = newCodec[T](a.GroupVersion, &s.opts); err == nil {
			item, err = codec.answer(a, len(s.opts.Drop) > 0)
		}
	}
	if err != nil {
		return Written[T]{}, err
	}
	return written(item, &s.opts, CoverageUnknown)
}

// ReadObject implements Traits.ReadAnswer for a source that has objects and no
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
	return written(ItemOf(obj), &Options{}, Covered)
}

func (r *rekeyed[T]) readAnswer(a Answer) (Written[T], error) {
	w, err := ReadAnswer(r.src, a)
	if err == nil {
		r.rekey(&w.Item)
		err = w.Err
	}
	return w, err
}

// readAnswer transforms the object of an answer, which is a W.
func (m *mapped[W, T]) readAnswer(a Answer) (Written[T], error) {
	w, err := ReadAnswer(m.src, a)
	if err != nil {
		return Written[T]{}, err
	}
	m.mu.Lock()
	item := m.item(&w.Item, nil, nil)
	m.mu.Unlock()
	return Written[T]{Item: item, Coverage: w.Coverage, Gone: w.Gone}, item.Err
}

// copied returns a copy of an object that a client has decoded.
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
	// It may be the method of a type that this one embeds.
	c := ro.DeepCopyObject()
	if reflect.TypeOf(c) != reflect.TypeOf(obj) {
		return none, fmt.Errorf("DeepCopyObject of a %T returned a %T", obj, c)
	}
	return c.(T), nil
}

// answer returns the item of an answer, without dropped fields.
func (c *codec[T]) answer(a Answer, drops bool) (it Item[T], err error) {
	r := c.reader(nil)
	switch {
	case a.Object != nil:
		var obj T
		if obj, err = copied[T](a.Object, &expected{typ: reflect.PointerTo(c.kind.elem)}); err != nil {
			return it, err
		}
		if gvk := objectKind(obj); !gvk.Empty() && c.kind.form != metadataOnly {
			if err := c.kind.check(gvk); err != nil {
				return it, err
			}
		}
		if drops {
			obj, err = r.dropped(obj)
		}
		if err == nil {
			it = ItemOf(obj)
		}
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

// dropped returns obj without dropped fields, by encoding and decoding it.
func (r *reader[T]) dropped(obj T) (T, error) {
	gvk := objectKind(obj)
	b, err := json.Marshal(obj)
	if err != nil {
		return obj, err
	}
	o, err := r.decode(encoding.JSON, encoding.Object{Raw: b}, gvk)
	if err == nil && !gvk.Empty() {
		setKind(o.Value, gvk)
	}
	return o.Value, err
}

// written adds the coverage of an item, and whether it is gone. most is the
// coverage of an object that the options select.
func written[T any](item Item[T], opts *Options, most Coverage) (Written[T], error) {
	w := Written[T]{Item: item}
	if item.Err != nil {
		return w, item.Err
	}
	m, err := accessor(item.Object)
	if err != nil {
		return w, err
	}
	if opts.Namespace != "" && m.GetNamespace() != opts.Namespace {
		return w, fmt.Errorf("%w: it is in namespace %q, and the collection of %q", ErrNotCovered, m.GetNamespace(), opts.Namespace)
	}
	w.Gone = objectmeta.Gone(item.Object, m)
	w.Coverage, err = opts.covers(m, most)
	if err == nil && item.Key == (store.Key{}) {
		err = &NamelessError{item.Object}
	}
	return w, err
}
