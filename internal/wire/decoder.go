package wire

import (
	"reflect"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/json"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/untyped"
	"github.com/kinglet-go/kinglet/store"
)

// Decoder decodes bytes into Ts. T is a pointer to a struct of an API type, or an
// interface that holds such a pointer. It is immutable and safe for concurrent use:
// the Session has the state.
type Decoder[T any] struct {
	cell[T]
	// plans are by format, nil for one that T cannot be read from.
	plans [formats.Count]plan
	apart bool
}

// plan decodes objects of one Go type from one format.
type plan interface {
	// Decode decodes the object at the start of raw, and returns how many bytes
	// it took.
	Decode(s *share.Session, raw []byte, last share.Version) (share.Result, int, error)
}

// Last is the version of an object that the decoder's caller holds, with the memo
// that was stored with it. Its zero value is none. Decoders use it only if the memo
// is of the same plan and of this very object: see share.Version.
type Last[T any] struct {
	Object T
	Memo   *share.Memo
	Held   bool
}

// Object is a decoded object.
type Object[T any] struct {
	Value T
	Memo  *share.Memo
	// Same says that nothing has changed: Value and Memo are the previous
	// version's.
	Same bool
	// APIVersion and Kind are those in JSON if the decoder's KindApart, and are then
	// not in a typed Value: whether they belong there depends on whether the object
	// came in a list or a watch.
	APIVersion, Kind string
}

// Copied replaces o.Value by value, a copy of it that may be written to. The memo is
// then of the copy.
func (o *Object[T]) Copied(value T) {
	o.Value, o.Same = value, false
	if u, ok := any(value).(*unstructured.Unstructured); ok {
		o.Memo = o.Memo.Of(untyped.Address(u.Object))
		return
	}
	o.Memo = o.Memo.Of(reflect.ValueOf(value).UnsafePointer())
}

// Compile returns the decoder of Ts that are pointers to typ, or hold such, and
// leaves out the fields in drops. Decoders of one type share their plans.
func Compile[T any](typ reflect.Type, drops *gotype.Drops) (d *Decoder[T], err error) {
	d = &Decoder[T]{cell: cellOf[T](typ)}
	key := planKey{typ: typ, drop: drops.String()}
	if typ == reflect.TypeFor[unstructured.Unstructured]() {
		d.plans[formats.JSON], err = cached(key.of(formats.Untyped), func() (plan, error) { return untypedPlan{untyped.Compile(drops)}, nil })
	} else {
		err = d.compile(typ, drops, key)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// compile makes the plans of a type with gotype.
func (d *Decoder[T]) compile(typ reflect.Type, drops *gotype.Drops, key planKey) error {
	p, err := cached(key.of(formats.JSON), func() (plan, error) { return json.Compile(typ, drops) })
	if err != nil {
		return err
	}
	d.plans[formats.JSON], d.apart = p, p.(*json.Plan).KindApart()
	if protobuf.Reads(typ) {
		d.plans[formats.Protobuf], err = cached(key.of(formats.Protobuf), func() (plan, error) { return protobuf.Compile(typ, drops) })
	}
	return err
}

// plans are those compiled so far, as encoding/json keeps its own: a plan of a Pod
// takes a millisecond and some hundred kilobytes, and depends only on the type and
// the dropped fields. There are as many as a program has types.
var plans sync.Map // of planKey

type planKey struct {
	typ    reflect.Type
	format formats.Format
	drop   string
}

func (k planKey) of(format formats.Format) planKey {
	k.format = format
	return k
}

func cached[P any](key planKey, compile func() (P, error)) (P, error) {
	if p, ok := plans.Load(key); ok {
		return p.(P), nil
	}
	p, err := compile()
	if err != nil {
		return p, err
	}
	kept, _ := plans.LoadOrStore(key, p)
	return kept.(P), nil
}

// KindApart reports that apiVersion and kind of a self-described object are in
// the Object. Otherwise they are where the type keeps them, if it does.
func (d *Decoder[T]) KindApart() bool { return d.apart }

// Decode decodes the object at the start of raw, and returns how many bytes it
// took. In a format without an end of its own, such as protobuf, that is all of raw.
// It returns io.ErrUnexpectedEOF if a JSON object does not end in raw, and
// formats.ErrNone for a format that T cannot be read from.
func (d *Decoder[T]) Decode(format formats.Format, s *share.Session, raw []byte, last Last[T]) (Object[T], int, error) {
	p := d.plans[format]
	if p == nil {
		return Object[T]{}, 0, formats.ErrNone
	}
	r, n, err := p.Decode(s, raw, d.held(last))
	switch {
	case err != nil:
		return Object[T]{}, n, err
	case r.Same:
		return Object[T]{Value: last.Object, Memo: r.Memo, Same: true, APIVersion: r.APIVersion, Kind: r.Kind}, n, nil
	}
	return Object[T]{Value: d.object(r.Object), Memo: r.Memo, APIVersion: r.APIVersion, Kind: r.Kind}, n, nil
}

// untypedPlan wraps the maps of an untyped.Plan in unstructured objects.
type untypedPlan struct{ *untyped.Plan }

func (p untypedPlan) Decode(s *share.Session, raw []byte, last share.Version) (share.Result, int, error) {
	r, n, err := p.Plan.Decode(s, raw, last.At(func(u unsafe.Pointer) unsafe.Pointer {
		return untyped.Address((*unstructured.Unstructured)(u).Object)
	}))
	switch {
	case err != nil:
		return share.Result{}, n, err
	case r.Same:
		return share.Result{Memo: last.Memo(), Same: true}, n, nil
	}
	return share.Result{Object: unsafe.Pointer(&unstructured.Unstructured{Object: r.Object}), Memo: r.Memo}, n, nil
}

// PanicError is a panic of a type's own decoder.
type PanicError = official.PanicError

// cell converts between a T and the pointer to an object: T is that pointer, or an
// interface that holds it. Neither conversion allocates.
type cell[T any] struct {
	// boxed is the type to point to if T is an interface, or nil.
	boxed reflect.Type
	// pointer is the type of a pointer to it.
	pointer reflect.Type
}

// cellOf returns the cell of a T that is, or can keep, a pointer to typ.
func cellOf[T any](typ reflect.Type) cell[T] {
	if reflect.TypeFor[T]().Kind() != reflect.Interface {
		return cell[T]{}
	}
	return cell[T]{boxed: typ, pointer: reflect.PointerTo(typ)}
}

// object returns the T for the object at p.
func (c *cell[T]) object(p unsafe.Pointer) T {
	if c.boxed != nil {
		return reflect.NewAt(c.boxed, p).Interface().(T)
	}
	return *(*T)(unsafe.Pointer(&p))
}

// at returns the address of the object in obj, or nil: an interface may hold an
// object of another type, which the program put into the store.
func (c *cell[T]) at(obj T) unsafe.Pointer {
	if c.boxed == nil {
		return *(*unsafe.Pointer)(unsafe.Pointer(&obj))
	}
	if v := any(obj); reflect.TypeOf(v) == c.pointer {
		return reflect.ValueOf(v).UnsafePointer()
	}
	return nil
}

// held returns last as a share.Version.
func (c *cell[T]) held(last Last[T]) share.Version {
	if !last.Held {
		return share.Version{}
	}
	return share.VersionOf(c.at(last.Object), last.Memo)
}

// Key reads an object's namespace and name from its bytes, without decoding it. The
// strings alias raw, so use them for a lookup only. It is not ok if the key can't be
// read cheaply.
func Key(format formats.Format, raw []byte) (store.Key, bool) {
	switch format {
	case formats.Protobuf:
		id, ok := protobuf.IdentityOf(raw)
		return aliasing(id.Namespace, id.Name), ok
	case formats.JSON:
		id, ok := json.IdentityOf(raw)
		return aliasing(id.Namespace, id.Name), ok
	}
	return store.Key{}, false
}

// Metadata returns the bytes of an object's metadata, and in JSON what follows it, without
// decoding anything else. It is not ok if they can't be found cheaply.
func Metadata(format formats.Format, raw []byte) (meta []byte, ok bool) {
	switch format {
	case formats.Protobuf:
		return protobuf.Metadata(raw)
	case formats.JSON:
		return json.Metadata(raw)
	}
	return nil, false
}

func aliasing(namespace, name []byte) store.Key {
	return store.Key{
		Namespace: unsafe.String(unsafe.SliceData(namespace), len(namespace)),
		Name:      unsafe.String(unsafe.SliceData(name), len(name)),
	}
}
