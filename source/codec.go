package source

import (
	"fmt"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// codec decodes the bytes of single objects into items.
type codec[T any] struct {
	kind *kind[T]
	// wire is nil if apimachinery's own decoders are used: sharing is off and nothing is
	// dropped, or T has its own decoder. slow is the reason, or why wire reads JSON alone.
	wire *wire.Decoder[T]
	slow error
	// sharing is nil if objects are to share nothing.
	sharing *Sharing
	selection
	// entire decodes the objects that Options.Whole chooses, and metadata what it
	// chooses by. wire decodes the others.
	entire   *wire.Decoder[T]
	metadata *wire.Decoder[*metav1.ObjectMeta]
}

func newCodec[T any](gv schema.GroupVersion, opts *Options) (*codec[T], error) {
	k, err := newKind[T](gv, opts)
	if err != nil {
		return nil, err
	}
	c := &codec[T]{kind: k}
	if c.selection, err = newSelection(k.elem, opts); err != nil {
		return nil, err
	}
	if opts.DisableSharing && c.drops == nil {
		c.slow = ErrSharingDisabled
		return c, nil
	}
	c.wire, err = wire.Compile[T](k.elem, c.drops)
	if err != nil {
		if c.drops != nil {
			return nil, err
		}
		// T has a decoder of its own; only speed is lost.
		c.wire, c.slow = nil, fmt.Errorf("decoded by apimachinery: %w", err)
		return c, nil
	}
	if c.whole != nil {
		if c.entire, err = wire.Compile[T](k.elem, c.less); err == nil {
			c.metadata, err = metadataDecoder()
		}
		if err != nil {
			return nil, err
		}
	}
	if k.form == typed && !c.wire.KindApart() && !k.decodesKind() {
		c.labels = nil // the kind of metadata would be in fields that nobody clears
	}
	if !opts.DisableSharing {
		c.sharing = orDefault(opts.Sharing)
	}
	if _, has := any(k.new()).(official.Protobuf); has && !k.proto {
		c.slow = ErrInheritedUnmarshal
	}
	return c, nil
}

// metadataDecoder returns a decoder of what Options.Whole gets.
func metadataDecoder() (*wire.Decoder[*metav1.ObjectMeta], error) {
	typ := reflect.TypeFor[metav1.ObjectMeta]()
	drops, err := gotype.DropsOf(typ, nil, []string{"annotations", "managedFields"})
	if err != nil {
		return nil, err
	}
	return wire.Compile[*metav1.ObjectMeta](typ, drops)
}

// reader is a codec for use by one goroutine.
type reader[T any] struct {
	*codec[T]
	session *share.Session
	held    Held[T]
	// metadataOnly: what is read is metadata in the place of objects.
	metadataOnly bool
	// apart shares nothing: it is for what Options.Whole gets.
	apart *share.Session
}

// reader returns a reader for one answer. Without held, objects must share nothing.
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
	r.held, r.metadataOnly = held, false
}

// last returns what is held under key, if ok: a key was found in an object's bytes.
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

// decoded is an object and its kind.
type decoded[T any] struct {
	wire.Object[T]
	// gvk is the kind in its envelope, or else in its own members.
	gvk schema.GroupVersionKind
	// inside reports that Value holds its kind, if its type has a field for it.
	// Otherwise a typed Value has none.
	inside bool
}

// decode decodes an object. likely is its likely kind, which only saves time.
func (r *reader[T]) decode(enc encoding.Encoding, o encoding.Object, likely schema.GroupVersionKind) (d decoded[T], err error) {
	if r.wire != nil {
		obj, n, err := r.prefix(enc, o.Raw)
		if err == nil && n+encoding.Spaces(o.Raw[n:]) == len(o.Raw) {
			return r.withKind(enc, obj, o, likely), nil
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return d, err
		}
		// It ends before Raw does, or after it: apimachinery's decoder has the
		// error for that.
	}
	d.inside = true
	if d.Value, err = r.kind.decode(enc.Format(), o.Raw); err != nil {
		return d, err
	}
	if d.gvk = o.Kind; !o.Enveloped {
		d.gvk, err = r.kind.kindIn(enc, d.Value, o.Raw)
	}
	return d, err
}

// prefix decodes the object at the start of raw.
func (r *reader[T]) prefix(enc encoding.Encoding, raw []byte) (o wire.Object[T], n int, err error) {
	var last wire.Last[T]
	if r.remembers() {
		last = r.last(wire.Key(enc.Format(), raw))
	}
	dec := r.wire
	if r.whole != nil && !r.metadataOnly {
		whole := false
		if m, ok := r.metadataOf(enc, raw); ok {
			whole, err = r.holdsWhole(m)
		} else if o, n, err = r.entire.Decode(enc.Format(), r.session, raw, last); err == nil {
			// Only the whole object shows what is wrong with it, if anything.
			whole, err = r.holdsWhole(o.Value)
		}
		switch {
		case err != nil:
			return o, n, err
		case whole:
			dec = r.entire
		}
	}
	return dec.Decode(enc.Format(), r.session, raw, last)
}

// metadataOf reads an object's metadata from its bytes without decoding the rest, if it can.
func (r *reader[T]) metadataOf(enc encoding.Encoding, raw []byte) (*metav1.ObjectMeta, bool) {
	meta, ok := wire.Metadata(enc.Format(), raw)
	if !ok {
		return nil, false
	}
	if r.apart == nil {
		r.apart = share.NewSession(nil)
	}
	o, _, err := r.metadata.Decode(enc.Format(), r.apart, meta, wire.Last[*metav1.ObjectMeta]{})
	return o.Value, err == nil
}

// withKind adds the kind of obj, which was decoded from o. An unstructured
// object that is still the previous version may have a kind that o lacks. It is
// used if it is the likely one.
func (r *reader[T]) withKind(enc encoding.Encoding, obj wire.Object[T], o encoding.Object, likely schema.GroupVersionKind) decoded[T] {
	switch {
	case o.Enveloped:
		return decoded[T]{Object: obj, gvk: o.Kind}
	case r.wire.KindApart():
		return decoded[T]{Object: obj, gvk: schema.FromAPIVersionAndKind(obj.APIVersion, obj.Kind)}
	case r.kind.form != untyped:
		return decoded[T]{Object: obj, gvk: enc.Kind(o.Raw), inside: true}
	}
	gvk := objectKind(obj.Value)
	if obj.Same && gvk != likely {
		gvk = enc.FirstKind(o.Raw)
	}
	return decoded[T]{Object: obj, gvk: gvk, inside: true}
}

// watched returns the item of a watch's object, which must have a kind.
func (r *reader[T]) watched(enc encoding.Encoding, o encoding.Object) Item[T] {
	if o.Enveloped {
		if err := r.kind.check(o.Kind); err != nil {
			return brokenItem[T](StageDecode, enc.Identity(o.Raw), err)
		}
	}
	d, err := r.decode(enc, o, schema.GroupVersionKind{})
	if err != nil {
		// An object of another kind often does not even decode. Then its kind is
		// the error.
		d.gvk = encoding.KindOf(enc, o)
	}
	return r.ofWatch(enc, d, err, o.Raw)
}

// ofWatch returns a watch's item of a decoded object. Typed objects lose their
// kind, as in client-go's typed clients. One that is still the previous version
// is held, and stays as it is.
func (r *reader[T]) ofWatch(enc encoding.Encoding, d decoded[T], err error, raw []byte) Item[T] {
	if bad := r.kind.check(d.gvk); bad != nil {
		err = bad
	}
	switch {
	case err != nil:
	case r.kind.marks():
		r.kind.mark(&d.Object, d.gvk)
	case r.kind.form != untyped && d.inside && !d.Same:
		setKind(d.Value, schema.GroupVersionKind{})
	}
	return decodedItem(enc, d.Object, err, raw)
}

// listed decodes one item of a list, whose kind is list as far as that is known.
// Among self-described items only those of custom resources have their kind, and
// keep it, as in client-go's clients. An unstructured item without one gets the
// list's; unsure reports that neither is known yet.
func (r *reader[T]) listed(enc encoding.Encoding, raw []byte, list schema.GroupVersionKind) (it Item[T], unsure bool) {
	o, err := enc.Item(raw)
	if err != nil {
		return brokenItem[T](StageDecode, encoding.Identity{}, err), false
	}
	listed, known := r.kind.listed(list, false)
	if r.metadataOnly = list == partialListKind && r.kind.form != metadataOnly; r.metadataOnly {
		listed = r.kind.want
	}
	d, err := r.decode(enc, o, listed)
	if err == nil && !d.gvk.Empty() && !r.metadataOnly {
		err = r.kind.check(d.gvk)
	}
	switch {
	case err != nil:
	case r.metadataOnly && r.kind.form == untyped:
		r.kind.mark(&d.Object, listed)
	case r.metadataOnly:
		if !d.Same && d.inside {
			setKind(d.Value, schema.GroupVersionKind{})
		}
	case r.kind.form != untyped && !r.kind.marks():
		// A held object stays as it is: it came from a list, or from a watch
		// without its kind, which is no reason to make it a new object.
		if !d.Same && !d.inside && !d.gvk.Empty() {
			setKind(d.Value, d.gvk)
		}
	case !d.gvk.Empty():
		r.kind.mark(&d.Object, d.gvk)
	case known:
		if err = r.kind.check(listed); err == nil {
			r.kind.mark(&d.Object, listed)
		}
	default:
		unsure = true
		r.kind.own(&d.Object)
	}
	return decodedItem(enc, d.Object, err, raw), unsure
}

func objectKind[T any](obj T) schema.GroupVersionKind {
	return any(obj).(runtime.Object).GetObjectKind().GroupVersionKind()
}

func setKind[T any](obj T, gvk schema.GroupVersionKind) {
	any(obj).(runtime.Object).GetObjectKind().SetGroupVersionKind(gvk)
}

// decodedItem returns the item of o, or a broken one if err is set.
func decodedItem[T any](enc encoding.Encoding, o wire.Object[T], err error, raw []byte) Item[T] {
	if err != nil {
		return brokenItem[T](StageDecode, enc.Identity(raw), err)
	}
	it := ItemOf(o.Value)
	it.Size = int64(len(raw))
	if o.Memo != nil && it.Err == nil {
		it.Memo = o.Memo
	}
	return it
}
