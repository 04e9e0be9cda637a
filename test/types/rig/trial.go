package rig

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// trial decodes versions of an object of one type, one after the other, by one of two
// decoders (the second leaves out fields), or has one shared by structure, and compares each
// with the official decoder's. The version before is any that somebody may hold.
type trial struct {
	filler.Filler
	typ      reflect.Type
	decoders [2]*wire.Decoder[any]
	drops    *gotype.Drops
	// paths are those that the second decoder drops or, if keeps, keeps.
	paths     []string
	keeps     bool
	session   *share.Session
	structure *wire.Structure[any]
	now       reflect.Value
	held      []version
	// states has the hidden state of what is held, by address.
	states    map[uintptr]bool
	decodings int
}

// version is a decoded object, with what it was decoded from and how.
type version struct {
	object  any
	memo    *share.Memo
	raw     []byte
	format  formats.Format
	dropped bool
	// kind is the object's TypeMeta, if it has one.
	kind any
}

func newTrial(typ reflect.Type, script *filler.Script) (*trial, error) {
	table := share.NewTable(0)
	r := &trial{Filler: filler.Filler{Script: script}, typ: typ, session: share.NewSession(table), states: map[uintptr]bool{}}
	if script.OneIn(2) {
		r.session.Recent = new(share.Recent)
	}
	r.structure = wire.NewStructure[any](table)
	for range 1 + r.Intn(2) {
		if path := filler.Path(r.Script, typ); path != "" && !slices.Contains(r.paths, path) {
			r.paths = append(r.paths, path)
		}
	}
	var keep, drop []string
	if r.keeps = r.OneIn(2); r.keeps {
		keep = r.paths
	} else {
		drop = r.paths
	}
	var err error
	var refused *gotype.PathError
	// What every object needs cannot be dropped, and only objects with metadata are reduced.
	if r.drops, err = gotype.DropsOf(typ, keep, drop); err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	for i, drops := range []*gotype.Drops{nil, r.drops} {
		if r.decoders[i], err = wire.Compile[any](typ, drops); err != nil {
			return nil, fmt.Errorf("with %v: %w", drops, err)
		}
	}
	return r, nil
}

func (r *trial) run() error {
	for range steps {
		if err := r.step(); err != nil {
			return err
		}
	}
	for _, h := range r.held {
		want, err := r.official(h)
		if err != nil {
			return err
		}
		if meta := typeMeta(want); meta.IsValid() {
			meta.Set(reflect.ValueOf(h.kind))
		}
		statesOf(want)
		if !gotype.Identical(reflect.ValueOf(h.object), reflect.ValueOf(want)) {
			return fmt.Errorf("became\n%s\nwas\n%s", spell(h.object), spell(want))
		}
	}
	return nil
}

func (r *trial) step() error {
	format := formats.JSON
	if protobuf.Reads(r.typ) && r.OneIn(2) {
		format = formats.Protobuf
	}
	if !r.now.IsValid() || r.OneIn(6) {
		r.now = r.fresh(format)
	} else if !r.OneIn(5) {
		r.Budget = 30
		for range 1 + r.Intn(2) {
			r.change(r.now.Elem())
		}
	}
	if !r.now.IsValid() {
		return nil
	}
	raw, err := encoded(r.now, format)
	if err != nil {
		r.now = reflect.Value{}
		return nil
	}
	if r.OneIn(5) {
		r.session.Table.Fade()
	}
	if r.OneIn(4) {
		return r.share(version{raw: raw, format: format})
	}
	return r.decode(version{raw: raw, format: format, dropped: r.OneIn(3)})
}

// fresh returns an object that the official decoder reads from what the official encoder
// makes of it; smaller ones succeed more often. It returns none if none does.
func (r *trial) fresh(format formats.Format) reflect.Value {
	for _, r.Budget = range []int{200, 200, 80, 30, 10, 5, 2} {
		v := reflect.New(r.typ)
		if guarded(func() error { r.Fill(v.Elem(), 0); return nil }) != nil {
			continue
		}
		raw, err := encoded(v, format)
		if err != nil {
			continue
		}
		if _, err := r.official(version{raw: raw, format: format}); err == nil {
			return v
		}
	}
	return reflect.Value{}
}

// change fills some part of v again.
func (r *trial) change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if n := v.NumField(); n > 0 && !r.OneIn(6) && !filler.DecodesItself(v.Type()) {
			if f := v.Field(r.Intn(n)); f.CanSet() {
				r.change(f)
			}
			return
		}
	case reflect.Pointer:
		if !v.IsNil() && !r.OneIn(5) {
			r.change(v.Elem())
			return
		}
	case reflect.Slice:
		if v.Len() > 0 && !r.OneIn(5) {
			r.change(v.Index(r.Intn(v.Len())))
			return
		}
	}
	r.Fill(v, 2)
}

func encoded(v reflect.Value, format formats.Format) (raw []byte, err error) {
	err = guarded(func() error {
		if format == formats.Protobuf {
			m, ok := v.Interface().(interface{ Marshal() ([]byte, error) })
			if !ok {
				return errors.New("it cannot be encoded")
			}
			raw, err = m.Marshal()
			return err
		}
		raw, err = stdjson.Marshal(v.Interface())
		return err
	})
	if err == nil && format == formats.JSON && raw[0] != '{' {
		err = errors.New("not an object")
	}
	return raw, err
}

// guarded returns a panic of f, which is others' code, as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

func (r *trial) official(h version) (obj any, err error) {
	obj = reflect.New(r.typ).Interface()
	if h.format == formats.Protobuf {
		err = official.Unmarshal(h.raw, obj.(official.Protobuf))
	} else {
		err = official.JSON(h.raw, obj)
	}
	if err == nil && h.dropped {
		r.drops.Clear(reflect.ValueOf(obj))
	}
	return obj, err
}

// last returns a version that somebody holds, with its memo, another's, or none.
func (r *trial) last() wire.Last[any] {
	if len(r.held) == 0 || r.OneIn(6) {
		return wire.Last[any]{}
	}
	h := r.held[len(r.held)-1]
	if r.OneIn(3) {
		h = filler.Pick(r.Script, r.held)
	}
	l := wire.Last[any]{Object: h.object, Memo: h.memo, Held: true}
	switch r.Intn(8) {
	case 0:
		l.Memo = nil
	case 1:
		l.Memo = filler.Pick(r.Script, r.held).memo
	}
	return l
}

func (r *trial) decode(h version) error {
	last := r.last()
	d := r.decoders[0]
	if h.dropped {
		d = r.decoders[1]
	}
	b := slices.Clone(h.raw)
	if h.format == formats.JSON {
		b = append(b, ' ')
	}
	o, n, err := d.Decode(h.format, r.session, b, last)
	clear(b)
	want, wantErr := r.official(h)
	how := fmt.Sprintf("format %d, paths %v (kept %v, used %v), a version before %v: %q", h.format, r.paths, r.keeps, h.dropped, last.Held, h.raw)
	switch {
	case (err == nil) != (wantErr == nil) && !(h.dropped && err == nil):
		return fmt.Errorf("error %v, the official decoder's is %v\n%s", err, wantErr, how)
	case wantErr != nil:
		return nil
	case n != len(h.raw):
		return fmt.Errorf("%d of %d bytes\n%s", n, len(h.raw), how)
	case o.Same && (o.Value != last.Object || o.Memo != last.Memo):
		return errors.New("the same, and not the version before\n" + how)
	}
	if d.KindApart() {
		meta := typeMeta(want)
		if kind, _ := meta.FieldByName("Kind").Interface().(string); h.format == formats.JSON && kind != o.Kind {
			return fmt.Errorf("of kind %q, not %q\n%s", o.Kind, kind, how)
		}
		if meta.SetZero(); o.Same {
			meta.Set(typeMeta(o.Value))
		}
	}
	h.object, h.memo = o.Value, o.Memo
	if err := r.keep(h, want, o.Same && last.Held); err != nil {
		return fmt.Errorf("%w\n%s", err, how)
	}
	return nil
}

// share has an object that a program made shared by structure.
func (r *trial) share(h version) error {
	obj, err := r.official(h)
	want, wantErr := r.official(h)
	if err != nil || wantErr != nil {
		return nil
	}
	last := r.last()
	got := r.structure.Share(obj, last)
	h.object = got
	if err := r.keep(h, want, last.Held && got == last.Object); err != nil {
		return fmt.Errorf("%w\nshared by structure, format %d, a version before %v: %q", err, h.format, last.Held, h.raw)
	}
	return nil
}

// keep compares an object with what it should be, and holds it. Hidden state in it is its
// own, unless it is the very version before. Readers read it, which may write there.
func (r *trial) keep(h version, want any, same bool) error {
	r.decodings++
	if same {
		statesOf(want)
	}
	if !gotype.Identical(reflect.ValueOf(h.object), reflect.ValueOf(want)) {
		return fmt.Errorf("decoded\n%s\nnot\n%s", spell(h.object), spell(want))
	}
	for _, p := range statesOf(h.object) {
		if r.states[p] && !same {
			return errors.New("hidden state is another object's as well")
		}
		r.states[p] = true
	}
	if meta := typeMeta(h.object); meta.IsValid() {
		h.kind = meta.Interface()
	}
	r.held = append(r.held, h)
	return nil
}

// statesOf returns where an object has hidden state: messages that keep their size, and
// quantities without their text. It reads the quantities, which writes their text.
func statesOf(obj any) (all []uintptr) {
	filler.Reach(reflect.ValueOf(obj), func(v reflect.Value) {
		_, message := v.Addr().Type().MethodByName("ProtoReflect")
		q, quantity := v.Addr().Interface().(*resource.Quantity)
		if message || quantity && v.FieldByName("s").Len() == 0 {
			all = append(all, v.Addr().Pointer())
		}
		if quantity {
			_ = q.String()
		}
	})
	return all
}

// typeMeta returns the TypeMeta of an object; invalid if it has none.
func typeMeta(obj any) reflect.Value {
	v := reflect.ValueOf(obj).Elem()
	if f, ok := v.Type().FieldByName("TypeMeta"); ok && f.Anonymous {
		f, err := v.FieldByIndexErr(f.Index)
		if err == nil {
			return f
		}
	}
	return reflect.Value{}
}

func spell(v any) string {
	b, err := stdjson.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}
