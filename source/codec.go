package source

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/store"
)

// codec makes items of the bytes of single objects.
type codec[T any] struct {
	kind *kind[T]
	// wire is nil where apimachinery's own decoders are used: sharing is off,
	// or T is decoded by code of its own. slow says which.
	wire *wire.Decoder[T]
	slow error
	// apart: wire says the kind of JSON objects beside them.
	apart bool
	// sharing is nil if objects are to share nothing.
	sharing *Sharing
}

func newCodec[T any](gv schema.GroupVersion, opts *Options) (*codec[T], error) {
	k, err := newKind[T](gv, opts)
	if err != nil {
		return nil, err
	}
	c := &codec[T]{kind: k}
	if opts.DisableSharing && len(opts.Drop) == 0 {
		c.slow = ErrSharingDisabled
		return c, nil
	}
	c.wire, err = wire.Compile[T](k.elem, opts.Drop)
	if err != nil {
		if len(opts.Drop) > 0 {
			return nil, err
		}
		// T has a decoder of its own; nothing is lost but the speed.
		c.wire, c.slow = nil, fmt.Errorf("decoded by apimachinery: %w", err)
		return c, nil
	}
	c.apart = c.wire.KindApart()
	if !opts.DisableSharing {
		c.sharing = opts.Sharing
		if c.sharing == nil {
			c.sharing = NewSharing(0)
		}
	}
	return c, nil
}

// reader is a codec in the hands of one goroutine.
type reader[T any] struct {
	*codec[T]
	session *share.Session
	held    Held[T]
}

// reader returns one for an answer. Without held, objects must share nothing.
func (c *codec[T]) reader(held Held[T]) *reader[T] {
	r := &reader[T]{codec: c}
	r.begin(held)
	return r
}

// begin makes the reader ready for another answer.
func (r *reader[T]) begin(held Held[T]) {
	var table *share.Table
	if held != nil && r.sharing != nil {
		table = r.sharing.table
	}
	if r.session == nil || r.session.Table != table {
		r.session = share.NewSession(table)
	}
	r.held = held
}

// last is what is held under a key that was found in an object's bytes.
func (r *reader[T]) last(key store.Key, ok bool) wire.Last[T] {
	if !ok {
		return wire.Last[T]{}
	}
	obj, memo, ok := r.held(key)
	if !ok {
		return wire.Last[T]{}
	}
	m, _ := memo.(*share.Memo)
	return wire.Last[T]{Object: obj, Memo: m, Held: true}
}

func (r *reader[T]) remembers() bool { return r.session.Table != nil }

// protoObject decodes an object's own message.
func (r *reader[T]) protoObject(raw []byte) (wire.Object[T], error) {
	if r.wire == nil {
		obj, err := r.kind.protoObject(raw)
		return wire.Object[T]{Value: obj}, err
	}
	var last wire.Last[T]
	if r.remembers() {
		last = r.last(wire.ProtobufKey(raw))
	}
	o, err := r.wire.Protobuf(r.session, raw, last)
	return o, panicked(err)
}

// fromProto makes the item of a watch's object, which comes with its kind.
func (r *reader[T]) fromProto(raw []byte, tm runtime.TypeMeta) Item[T] {
	gvk := schema.FromAPIVersionAndKind(tm.APIVersion, tm.Kind)
	if err := r.kind.check(gvk); err != nil {
		return brokenItem[T](StageDecode, protoIdentity(raw), err)
	}
	o, err := r.protoObject(raw)
	if err == nil && r.kind.marks() {
		r.kind.mark(&o, gvk)
	}
	return decodedItem(o, err, raw, protoIdentity)
}

// itemFromProto makes the item of a list's object, which never says its kind.
func (r *reader[T]) itemFromProto(raw []byte) Item[T] {
	o, err := r.protoObject(raw)
	if err == nil && r.kind.marks() {
		r.kind.mark(&o, partialKind)
	}
	return decodedItem(o, err, raw, protoIdentity)
}

// fromText is what was decoded of an object's JSON.
type fromText[T any] struct {
	wire.Object[T]
	// gvk is the kind that the object says it is of.
	gvk schema.GroupVersionKind
	// inside: Value has its kind, if its type keeps it. Otherwise a typed Value
	// has none.
	inside bool
}

// jsonObject decodes one JSON object, which raw has to be the whole of; likely
// is its likely kind, which only saves time.
func (r *reader[T]) jsonObject(raw []byte, likely schema.GroupVersionKind) (o fromText[T], err error) {
	if r.wire != nil {
		decoded, n, err := r.jsonPrefix(raw)
		if err == nil && n+spaces(raw[n:]) == len(raw) {
			return r.withKind(decoded, raw, likely), nil
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return o, err
		}
		// It ends before raw does or goes on behind it: somebody else's words
		// for that.
	}
	o.inside = true
	if o.Value, err = r.kind.jsonObject(raw); err != nil {
		return o, err
	}
	o.gvk, err = r.kind.said(o.Value, raw)
	return o, err
}

// jsonPrefix decodes the object at the start of raw.
func (r *reader[T]) jsonPrefix(raw []byte) (o wire.Object[T], n int, err error) {
	var last wire.Last[T]
	if r.remembers() {
		last = r.last(wire.JSONKey(raw))
	}
	o, n, err = r.wire.JSON(r.session, raw, last)
	return o, n, panicked(err)
}

// panicked makes a decoder's panic the error that it is here.
func panicked(err error) error {
	if err == nil {
		return nil
	}
	if value, stack, ok := wire.Panicked(err); ok {
		return &PanicError{Value: value, Stack: stack}
	}
	return err
}

// withKind adds what raw, the JSON of o, said of its kind. An unstructured
// object that is still the last version may have a kind that raw does not say:
// if that is the likely one, it is taken for it.
func (r *reader[T]) withKind(o wire.Object[T], raw []byte, likely schema.GroupVersionKind) fromText[T] {
	switch {
	case mutant.On(mutant.KindOfItsOwn) && r.kind.inherited():
		return fromText[T]{Object: o}
	case r.apart:
		return fromText[T]{Object: o, gvk: schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)}
	case r.kind.form != untyped:
		return fromText[T]{Object: o, gvk: jsonKind(raw), inside: true}
	}
	gvk := objectKind(o.Value)
	if o.Same && gvk != likely {
		gvk = firstKind(raw)
	}
	return fromText[T]{Object: o, gvk: gvk, inside: true}
}

// fromJSON makes the item of a watch's object, whose kind must be said.
func (r *reader[T]) fromJSON(raw []byte) Item[T] {
	o, err := r.jsonObject(raw, schema.GroupVersionKind{})
	if err != nil {
		// An object of another kind often does not even decode; that it is
		// of another kind is what there is to say.
		o.gvk = jsonKind(raw)
	}
	return r.watched(o, err, raw)
}

// watched makes an item of a watch of what was decoded. Typed objects are left
// without their kind, as client-go's typed clients do; one that is still the
// last version is held, and stays as it is.
func (r *reader[T]) watched(o fromText[T], err error, raw []byte) Item[T] {
	if mutant.On(mutant.WriteHeldKind) && r.kind.bare && r.kind.form == metadataOnly && err == nil {
		setKind(o.Value, schema.GroupVersionKind{})
	}
	if bad := r.kind.check(o.gvk); bad != nil {
		err = bad
	}
	switch {
	case err != nil:
	case r.kind.marks():
		r.kind.mark(&o.Object, o.gvk)
	case r.kind.form != untyped && o.inside && !o.Same:
		setKind(o.Value, schema.GroupVersionKind{})
	}
	return decodedItem(o.Object, err, raw, jsonIdentity)
}

// itemFromJSON makes one item of a list. Only items of custom resources say
// their kind, and theirs stays, as client-go's clients leave it. An
// unstructured item without one is of the list's; unsure reports that it is
// missing and list is not known yet.
func (r *reader[T]) itemFromJSON(raw []byte, list schema.GroupVersionKind) (it Item[T], unsure bool) {
	listed, known := r.kind.listed(list, false)
	o, err := r.jsonObject(raw, listed)
	if err == nil && !o.gvk.Empty() {
		err = r.kind.check(o.gvk)
	}
	switch {
	case err != nil:
	case r.kind.form != untyped && !r.kind.marks():
		// One that is held stays as it is: it came from a list, or else from a
		// watch without its kind, which is no reason to call it another.
		if !o.Same && !o.inside && !o.gvk.Empty() {
			setKind(o.Value, o.gvk)
		}
	case !o.gvk.Empty():
		r.kind.mark(&o.Object, o.gvk)
	case known:
		if err = r.kind.check(listed); err == nil {
			r.kind.mark(&o.Object, listed)
		}
	default:
		unsure = true
		r.kind.own(&o.Object)
	}
	return decodedItem(o.Object, err, raw, jsonIdentity), unsure
}

func objectKind[T any](obj T) schema.GroupVersionKind {
	return any(obj).(runtime.Object).GetObjectKind().GroupVersionKind()
}

func setKind[T any](obj T, gvk schema.GroupVersionKind) {
	any(obj).(runtime.Object).GetObjectKind().SetGroupVersionKind(gvk)
}

// decodedItem makes the item of an object, or of the reason why there is none.
func decodedItem[T any](o wire.Object[T], err error, raw []byte, id func([]byte) identity) Item[T] {
	if err != nil {
		return brokenItem[T](StageDecode, id(raw), err)
	}
	it := objectItem(o.Value)
	if o.Memo != nil && it.Err == nil {
		it.Memo = o.Memo
	}
	return it
}
