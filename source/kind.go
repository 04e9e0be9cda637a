package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"mime"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// form says how the Go type of objects relates to their kind.
type form uint8

const (
	// typed: they have the kind's own Go type.
	typed form = iota
	// untyped: they are *unstructured.Unstructured, of any kind.
	untyped
	// metadataOnly: they are *metav1.PartialObjectMetadata, of any kind.
	metadataOnly
)

// kind knows which objects are wanted, and decodes them. T is a pointer to their
// type, or an interface that holds such a pointer.
type kind[T any] struct {
	form form
	// elem is the objects' type.
	elem reflect.Type
	// want is the kind of typed objects. For others it is only the group and
	// version, which still distinguish one CRD's objects from another's, unless
	// an example says more. Empty parts are not compared.
	want schema.GroupVersionKind
	// proto says that they can be read from protobuf.
	proto bool
	// decodesKind reports that an object's ObjectKind returns the kind in its JSON. It
	// is computed on the first call: apimachinery's decoder inspects the whole
	// type for that, and most kinds never need it.
	decodesKind func() bool
	// bare: metadata gets no kind other than the one in its bytes, as in
	// client-go's metadata client.
	bare bool
	// named is the kind that metadata is given, if not empty: the Example's.
	named  schema.GroupVersionKind
	scheme *runtime.Scheme
}

var (
	partialKind     = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	partialListKind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
	partialType     = reflect.TypeFor[*metav1.PartialObjectMetadata]()
)

func newKind[T any](gv schema.GroupVersion, opts *Options) (*kind[T], error) {
	e, err := expect[T](opts.Example)
	if err != nil {
		return nil, err
	}
	typ := e.typ
	if typ == nil {
		return nil, fmt.Errorf("%s: %w", reflect.TypeFor[T](), ErrNoExample)
	}
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a pointer to a struct, as an API type is", typ)
	}
	k := &kind[T]{elem: typ.Elem(), want: gv.WithKind(""), scheme: opts.Scheme}
	obj := k.new()
	ro, ok := any(obj).(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not a runtime.Object", typ)
	}
	if _, err := accessor(obj); err != nil {
		return nil, err
	}
	k.proto = protobuf.Reads(k.elem)
	k.decodesKind = sync.OnceValue(k.tryDecodingKind)
	switch ro.(type) {
	case *unstructured.Unstructured:
		k.form = untyped
		if !e.gvk.Empty() && !k.sameVersion(e.gvk) {
			return nil, fmt.Errorf("the Example is of %s, and the resource of %s", e.gvk.GroupVersion(), gv)
		}
		k.want = cmp.Or(e.gvk, k.want)
		return k, nil
	case *metav1.PartialObjectMetadata:
		k.form = metadataOnly
		if p, ok := opts.Example.(*metav1.PartialObjectMetadata); ok && p != nil {
			k.named = p.GroupVersionKind()
		}
		return k, nil
	}
	k.want.Kind = typ.Elem().Name()
	if k.scheme == nil {
		return k, nil
	}
	registered, _, err := k.scheme.ObjectKinds(ro)
	if runtime.IsNotRegisteredError(err) {
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the kind of %s: %w", typ, err)
	}
	for _, gvk := range registered {
		if gv.Empty() || gvk.GroupVersion() == gv {
			k.want.Kind = gvk.Kind
			return k, nil
		}
	}
	return nil, fmt.Errorf("%s is registered as %s, and the resource is of %s", typ, registered[0], gv)
}

func (k *kind[T]) new() T { return reflect.New(k.elem).Interface().(T) }

// accept returns the Accept header of a list or watch: protobuf, if objects can be read
// from it, then JSON. named are the types that the client's configuration limits it to, in
// its order; empty for no limit. metadata asks for objects' metadata in their place.
func (c *codec[T]) accept(named string, watch, metadata bool) (string, error) {
	metadata = metadata && c.labels != nil
	k, as, drop, lacks := c.kind, "", "", c.drops
	if k.form == metadataOnly || metadata {
		as = ";as=" + partialKind.Kind + ";g=" + partialKind.Group + ";v=" + partialKind.Version
		if !watch {
			as = strings.Replace(as, partialKind.Kind, partialListKind.Kind, 1)
		}
	}
	if c.whole != nil && !metadata {
		lacks = c.less
	}
	if lacks.Has("metadata", "managedFields") {
		// KEP-5958. A server that does not know it ignores it.
		drop = ";drop=metadata.managedFields"
	}
	var types, readable []string
	for _, enc := range encoding.All {
		if !k.reads(enc) {
			continue
		}
		readable = append(readable, enc.MediaType())
		if accepts(named, enc) {
			types = append(types, enc.MediaType()+as+drop)
		}
	}
	if len(types) == 0 {
		return "", fmt.Errorf("the client accepts %q, and this source reads %q: AcceptContentTypes has to name one of these", named, readable)
	}
	js := strings.Index(named, runtime.ContentTypeJSON)
	if js >= 0 && js < strings.Index(named, runtime.ContentTypeProtobuf) {
		slices.Reverse(types)
	}
	if as != "" && accepts(named, encoding.JSON) {
		// A server that cannot convert to PartialObjectMetadata sends the whole object.
		types = append(types, runtime.ContentTypeJSON+drop)
	}
	return strings.Join(types, ","), nil
}

// accepts reports whether an Accept header has the type of an encoding, or is empty.
func accepts(header string, enc encoding.Encoding) bool {
	for one := range strings.SplitSeq(header, ",") {
		media, _, err := mime.ParseMediaType(one)
		if err == nil && (media == enc.MediaType() || media == "*/*" || media == "application/*") {
			return true
		}
	}
	return strings.TrimSpace(header) == ""
}

// reads reports whether objects can be read from an encoding.
func (k *kind[T]) reads(enc encoding.Encoding) bool {
	return enc.Format() != formats.Protobuf || k.proto && k.form != untyped
}

// listed returns the kind of items that do not name theirs, if the list's kind, as
// far as it was read, determines it. Members of JSON have no order: what is missing
// may come after the items, unless all of the list was read.
func (k *kind[T]) listed(list schema.GroupVersionKind, all bool) (gvk schema.GroupVersionKind, known bool) {
	if k.form == metadataOnly {
		return partialKind, true
	}
	known = list.Kind != "" && (all || list.Version != "")
	list.Kind = strings.TrimSuffix(list.Kind, "List")
	return list, known && list.Kind != ""
}

// marks reports whether metadata is given the kind that its bytes, or its list,
// name. (Unstructured objects always are.)
func (k *kind[T]) marks() bool { return k.form == metadataOnly && (!k.bare || !k.named.Empty()) }

// tryDecodingKind computes k.decodesKind by decoding an example: a type may have fields of its
// own for its kind, or leave it out.
func (k *kind[T]) tryDecodingKind() bool {
	const version, name = "example.com/v1", "Example"
	gvk, err := guard(func() (schema.GroupVersionKind, error) {
		obj := k.new()
		err := json.Unmarshal([]byte(`{"apiVersion":"`+version+`","kind":"`+name+`"}`), obj)
		return objectKind(obj), err
	})
	return err == nil && gvk == schema.FromAPIVersionAndKind(version, name)
}

// kindIn returns the kind in raw, from which apimachinery's decoder made obj.
func (k *kind[T]) kindIn(enc encoding.Encoding, obj T, raw []byte) (schema.GroupVersionKind, error) {
	if k.form == typed && !k.decodesKind() {
		return enc.Kind(raw), nil
	}
	return guard(func() (schema.GroupVersionKind, error) { return objectKind(obj), nil })
}

// mark gives an object its kind. Metadata that is held without one came
// through an interceptor, and stays so unless the Example names a kind.
func (k *kind[T]) mark(o *wire.Object[T], gvk schema.GroupVersionKind) {
	if !k.named.Empty() {
		gvk = k.named
	}
	had := objectKind(o.Value)
	if had == gvk || o.Same && had.Empty() && k.form == metadataOnly && k.named.Empty() {
		return
	}
	k.own(o)
	setKind(o.Value, gvk)
}

// own copies the part of the object that has its kind, if T has one, so that it
// can be set. The rest may still be the previous version's, which is held.
func (k *kind[T]) own(o *wire.Object[T]) {
	if !o.Same {
		return
	}
	var c runtime.Object
	switch obj := any(o.Value).(type) {
	case *unstructured.Unstructured:
		c = &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	case *metav1.PartialObjectMetadata:
		p := *obj
		c = &p
	default:
		return
	}
	o.Copied(c.(T))
}

// decode decodes with apimachinery's own decoder, or the type's.
func (k *kind[T]) decode(format formats.Format, raw []byte) (T, error) {
	return guard(func() (obj T, err error) {
		obj = k.new()
		u, isUntyped := any(obj).(*unstructured.Unstructured)
		switch {
		case format == formats.Protobuf:
			if !k.proto {
				return obj, formats.ErrNone
			}
			err = official.Unmarshal(raw, any(obj).(official.Protobuf))
		case isUntyped:
			// Its own UnmarshalJSON looks for "items" first, and is strict about
			// the kind, which items of built-in lists do not have.
			err = json.Unmarshal(raw, &u.Object)
		default:
			err = official.JSON(raw, obj)
		}
		if err == nil && isUntyped && u.Object == nil {
			err = errNoObject
		}
		return obj, err
	})
}

var errNoObject = errors.New("not an object")

// check returns a *KindError if got is not what is wanted.
func (k *kind[T]) check(got schema.GroupVersionKind) error {
	ok := got.Kind != "" && got != encoding.StatusKind
	switch k.form {
	case typed:
		ok = ok && got.Kind == k.want.Kind && k.sameVersion(got)
	case untyped:
		ok = ok && k.sameVersion(got) && (k.want.Kind == "" || got.Kind == k.want.Kind)
	}
	if ok {
		return nil
	}
	return &KindError{Want: k.want, Got: got}
}

func (k *kind[T]) sameVersion(got schema.GroupVersionKind) bool {
	return k.want.Version == "" || got.GroupVersion() == k.want.GroupVersion()
}

// checkList returns a *KindError if got is no list of what is wanted. A list that does
// not name its kind is accepted. items reports that it has items: a custom resource may
// name its list as it likes (names.listKind).
func (k *kind[T]) checkList(got schema.GroupVersionKind, items bool) error {
	if got.Empty() {
		return nil
	}
	ok := items || strings.HasSuffix(got.Kind, "List")
	switch k.form {
	case typed:
		ok = k.sameVersion(got) && (got.Kind == k.want.Kind+"List" || k.registeredList(got))
	case untyped:
		ok = ok && k.sameVersion(got)
	}
	if ok {
		return nil
	}
	return &KindError{Want: k.wantedList(), Got: got}
}

func (k *kind[T]) wantedList() schema.GroupVersionKind {
	want := k.want
	want.Kind += "List"
	return want
}

// registeredList reports whether the scheme has got as a list of T: a custom
// resource may name its list as it likes.
func (k *kind[T]) registeredList(got schema.GroupVersionKind) bool {
	if k.scheme == nil {
		return false
	}
	list, err := k.scheme.New(got)
	if err != nil {
		return false
	}
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return false
	}
	elem := reflect.TypeOf(items).Elem().Elem()
	return elem == k.elem || elem == reflect.PointerTo(k.elem)
}

// ErrNoExample: T is an interface, and no Example says what to decode into.
var ErrNoExample = errors.New("an interface needs Options.Example to say which type to decode into")

// expected is the type, and perhaps the kind, that an object must have.
type expected struct {
	// typ is the Go type; nil if T is an interface and there is no Example.
	typ reflect.Type
	// gvk is the kind that an unstructured object must have, if not empty.
	gvk schema.GroupVersionKind
	// selection is what the object has, if it is given as an object.
	selection *selection
}

const secrets = "secrets"

// mayBe reports whether the objects may be Secrets. resource is empty if it is not known.
func (e expected) mayBe(resource string) bool {
	switch {
	case resource != "":
		return resource == secrets
	case e.typ == nil, e.typ == partialType: // an annotation may have all of an object
		return true
	case e.typ == reflect.TypeFor[*unstructured.Unstructured]():
		return e.gvk.Kind == "" || e.gvk.Kind == "Secret"
	}
	return strings.Contains(e.typ.String(), "Secret") // also that of a type of the program's own
}

// expect returns what T and example ask for. example may be nil.
func expect[T any](example runtime.Object) (expected, error) {
	static := reflect.TypeFor[T]()
	open := static.Kind() == reflect.Interface
	typ := reflect.TypeOf(example)
	switch {
	case typ == nil && open:
		return expected{}, nil
	case typ == nil:
		return expected{typ: static}, nil
	case open && !typ.Implements(static), !open && typ != static:
		return expected{}, fmt.Errorf("the Example is a %s, which is no %s", typ, static)
	}
	want := expected{typ: typ}
	if u, ok := example.(*unstructured.Unstructured); ok && u != nil {
		want.gvk = u.GroupVersionKind()
	}
	return want, nil
}

// leaveOut makes w leave out what the options do.
func (w *expected) leaveOut(opts *Options) (err error) {
	if w.typ == nil || w.typ.Kind() != reflect.Pointer {
		return ErrNoExample
	}
	s, err := newSelection(w.typ.Elem(), opts)
	w.selection = &s
	return err
}

// String describes such objects for people.
func (w *expected) String() string {
	switch {
	case w.typ == nil:
		return "objects of any type"
	case !w.gvk.Empty():
		return w.gvk.String()
	}
	return w.typ.String()
}

// check returns a *KindError if obj is not what is expected. It allocates only
// then.
func (w *expected) check(obj runtime.Object) error {
	if w.typ != nil && reflect.TypeOf(obj) != w.typ {
		e := &KindError{Want: w.gvk, WantType: w.typ, GotType: reflect.TypeOf(obj)}
		if !isNil(obj) {
			e.Got = obj.GetObjectKind().GroupVersionKind()
		}
		return e
	}
	if !w.gvk.Empty() && !isNil(obj) {
		if got := obj.GetObjectKind().GroupVersionKind(); got != w.gvk {
			return &KindError{Want: w.gvk, Got: got}
		}
	}
	return nil
}
