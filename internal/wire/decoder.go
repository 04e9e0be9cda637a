package wire

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/json"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/untyped"
)

// Decoder makes Ts of bytes; T is a pointer to a struct of an API type, or an
// interface that such a pointer is kept in. It is immutable and safe for
// concurrent use: what changes is in the Session.
type Decoder[T any] struct {
	cell[T]
	protobuf *protobuf.Plan // nil if T cannot be read from protobuf
	json     *json.Plan     // nil if T is unstructured
	untyped  *untyped.Plan  // of unstructured Ts only
}

// Last is the version of an object that its decoder's caller holds, with the
// memo that stood beside it. Its zero value is none. Decoders use it only if the
// memo is of the same plan and of this very object: see share.Version.
type Last[T any] struct {
	Object T
	Memo   *share.Memo
	Held   bool
}

// Object is a decoded object.
type Object[T any] struct {
	Value T
	Memo  *share.Memo
	// Same says that nothing has changed: Value and Memo are the last
	// version's.
	Same bool
	// APIVersion and Kind are what JSON said if the decoder's KindApart, and are
	// then not in a typed Value: whether they belong there depends on where the
	// object stood.
	APIVersion, Kind string
}

// Copied makes value, a copy of o.Value that is written to, the object. The memo
// then is of the copy.
func (o *Object[T]) Copied(value T) {
	o.Value, o.Same = value, false
	if u, ok := any(value).(*unstructured.Unstructured); ok {
		o.Memo = untyped.MemoOf(u.Object, o.Memo)
		return
	}
	o.Memo = o.Memo.Of(reflect.ValueOf(value).UnsafePointer())
}

// ErrNoProtobuf is returned for a type that protobuf has no encoding of.
var ErrNoProtobuf = errors.New("protobuf came, which this type cannot be read from")

// Compile returns the decoder of Ts that are pointers to typ, or hold such, and
// leaves out the fields with the given paths. Decoders of one type share their
// plans.
func Compile[T any](typ reflect.Type, drop []string) (*Decoder[T], error) {
	d := &Decoder[T]{cell: cellOf[T](typ)}
	var err error
	if typ == reflect.TypeFor[unstructured.Unstructured]() {
		d.untyped, err = cached(typ, share.Untyped, drop, func() (*untyped.Plan, error) { return untyped.Compile(drop) })
		return d, err
	}
	d.json, err = cached(typ, share.JSON, drop, func() (*json.Plan, error) { return json.Compile(typ, drop) })
	if err != nil {
		return nil, err
	}
	if _, ok := reflect.New(typ).Interface().(interface{ Unmarshal([]byte) error }); ok {
		d.protobuf, err = cached(typ, share.Protobuf, drop, func() (*protobuf.Plan, error) { return protobuf.Compile(typ, drop) })
	}
	return d, err
}

// plans are those compiled so far, as encoding/json keeps its own: a plan of a
// Pod takes a millisecond and some hundred kilobytes, and depends on nothing
// but the type and what is dropped. There are as many as a program has types.
var plans sync.Map // of planKey

type planKey struct {
	typ    reflect.Type
	format share.Format
	drop   string
}

func cached[P any](typ reflect.Type, format share.Format, drop []string, compile func() (P, error)) (P, error) {
	sorted := slices.Sorted(slices.Values(drop))
	key := planKey{typ, format, strings.Join(sorted, "\n")}
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

// KindApart reports that JSON's apiVersion and kind are in the Object. Otherwise
// they are where the type keeps them, if it does.
func (d *Decoder[T]) KindApart() bool { return d.json != nil && d.json.KindApart() }

// Protobuf decodes an object's own message.
func (d *Decoder[T]) Protobuf(s *share.Session, raw []byte, last Last[T]) (Object[T], error) {
	if d.protobuf == nil {
		return Object[T]{}, ErrNoProtobuf
	}
	r, err := d.protobuf.Decode(s, raw, d.held(last))
	if err != nil {
		return Object[T]{}, err
	}
	return Object[T]{Value: d.object(r.Object), Memo: r.Memo, Same: r.Same}, nil
}

// JSON decodes the object at the start of raw and says how many bytes it took;
// io.ErrUnexpectedEOF if it does not end there.
func (d *Decoder[T]) JSON(s *share.Session, raw []byte, last Last[T]) (Object[T], int, error) {
	if d.untyped != nil {
		return d.unstructured(s, raw, last)
	}
	r, n, err := d.json.Decode(s, raw, d.held(last))
	if err != nil {
		return Object[T]{}, n, err
	}
	return Object[T]{Value: d.object(r.Object), Memo: r.Memo, Same: r.Same, APIVersion: r.APIVersion, Kind: r.Kind}, n, nil
}

func (d *Decoder[T]) unstructured(s *share.Session, raw []byte, last Last[T]) (Object[T], int, error) {
	var held share.Version
	if at := d.at(last.Object); last.Held && at != nil {
		held = untyped.VersionOf((*unstructured.Unstructured)(at).Object, last.Memo)
	}
	r, n, err := d.untyped.Decode(s, raw, held)
	if err != nil {
		return Object[T]{}, n, err
	}
	if r.Same {
		return Object[T]{Value: last.Object, Memo: last.Memo, Same: true}, n, nil
	}
	return Object[T]{Value: any(&unstructured.Unstructured{Object: r.Object}).(T), Memo: r.Memo}, n, nil
}

// Panicked reports that err is a panic of a type's own decoder, with what it
// panicked with and where.
func Panicked(err error) (value any, stack []byte, ok bool) {
	if p, ok := errors.AsType[*json.PanicError](err); ok {
		return p.Value, p.Stack, true
	}
	if p, ok := errors.AsType[*protobuf.PanicError](err); ok {
		return p.Value, p.Stack, true
	}
	return nil, nil, false
}
