package protobuf

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// decoded is a result with the bytes that it is of.
type decoded struct {
	typ reflect.Type
	raw []byte
	share.Result
}

func (d decoded) object() any { return reflect.NewAt(d.typ, d.Object).Interface() }

// history holds all that was decoded with one table.
type history struct {
	t       *testing.T
	session *share.Session
	all     []decoded
}

// decode decodes by the plan alone, and compares.
func (h *history) decode(p *Plan, raw []byte, last decoded) decoded {
	h.t.Helper()
	res, ok, _ := p.planned(h.session, raw, last.Version())
	if !ok {
		h.t.Fatalf("%v: the plan does not take what the official encoder made", p.root.typ)
	}
	d := decoded{p.root.typ, raw, res}
	h.equal(d)
	h.all = append(h.all, d)
	return d
}

// held is the result as its holder hands it over with the next version.
func (h *history) equal(d decoded) {
	h.t.Helper()
	if want := unmarshaled(h.t, d.typ, d.raw); !reflect.DeepEqual(d.object(), want) {
		h.t.Fatalf("%v: not what the official decoder makes of it:\n%s", d.typ, cmp.Diff(want, d.object()))
	}
}

func TestObjectsOfEveryKindAreEqualToTheOfficialOnesInAllTheirVersions(t *testing.T) {
	rnd := newRand(t)
	h := &history{t: t, session: share.NewSession(share.NewTable(0))}
	types := kinds()
	again := 0
	for _, typ := range types {
		p := compile(t, typ)
		private := typeOf(typ).HidesState
		f := filler(rnd)
		for range *objectsFlag {
			v := reflect.New(typ)
			f.Fill(v.Interface())
			first := encode(t, v)
			a := h.decode(p, first, decoded{})
			b := h.decode(p, first, a)
			if !b.Same && !private {
				t.Fatalf("%v: equal bytes are not the same object", typ)
			}
			if b.Same && (b.Object != a.Object || b.Memo != a.Memo) {
				t.Fatalf("%v: the same, but another object", typ)
			}
			last := a
			for range 3 {
				mutate(f, rnd, v.Elem())
				last = h.decode(p, encode(t, v), last)
				// What the last version does not remember may be answered by
				// the table instead; then it is one's from there on.
				next := h.decode(p, last.raw, last)
				if !next.Same {
					next = h.decode(p, last.raw, next)
				}
				if next.Same {
					again++
				} else if !private {
					t.Fatalf("%v: the equal bytes of a later version are not the same object", typ)
				}
				last = next
			}
			last = h.decode(p, first, last)
			h.decode(p, first, last)
		}
	}
	for _, d := range h.all {
		h.equal(d)
	}
	t.Logf("%d kinds, %d objects, %d times the same after a change, table %+v", len(types), len(h.all), again, h.session.Table.Stats())
}

func TestObjectsOfEveryKindWithoutDroppedFieldsAreTheOfficialOnesWithThemCleared(t *testing.T) {
	rnd := newRand(t)
	s := share.NewSession(share.NewTable(0))
	for _, typ := range kinds() {
		if !reflect.PointerTo(typ).Implements(reflect.TypeFor[metav1.Object]()) {
			continue
		}
		p := compile(t, typ, "metadata.managedFields", "metadata.annotations")
		f := filler(rnd)
		for range *objectsFlag {
			v := reflect.New(typ)
			f.Fill(v.Interface())
			var last share.Result
			for range 3 {
				raw := encode(t, v)
				want := unmarshaled(t, typ, raw).(metav1.Object)
				want.SetManagedFields(nil)
				want.SetAnnotations(nil)
				res, ok, _ := p.planned(s, raw, last.Version())
				if got := reflect.NewAt(typ, res.Object).Interface(); !ok || !reflect.DeepEqual(got, want) {
					t.Fatalf("%v: by the plan: %s", typ, cmp.Diff(want, got))
				}
				theirs, err := p.official(raw)
				if got := reflect.NewAt(typ, theirs.Object).Interface(); err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%v: by its own decoder: %v, %s", typ, err, cmp.Diff(want, got))
				}
				last = res
				mutate(f, rnd, v.Elem())
			}
		}
	}
}

func TestObjectsOfASessionWithoutATableShareNoMemory(t *testing.T) {
	rnd := newRand(t)
	s := share.NewSession(nil)
	for _, typ := range kinds() {
		p := compile(t, typ)
		f := filler(rnd)
		v := reflect.New(typ)
		f.Fill(v.Interface())
		raw := encode(t, v)
		want := unmarshaled(t, typ, raw)
		a, ok, _ := p.planned(s, raw, share.Version{})
		if got := reflect.NewAt(typ, a.Object); !ok || !reflect.DeepEqual(got.Interface(), want) {
			t.Fatalf("%v: %s", typ, cmp.Diff(want, got.Interface()))
		}
		b, _, err := p.Decode(s, raw, a.Version())
		if err != nil || b.Same || b.Memo != nil {
			t.Fatalf("%v: %+v, %v", typ, b, err)
		}
		one := map[uintptr]bool{}
		addresses(reflect.NewAt(typ, a.Object), func(p uintptr) { one[p] = true })
		addresses(reflect.NewAt(typ, b.Object), func(p uintptr) {
			if one[p] {
				t.Fatalf("%v: two objects share memory", typ)
			}
		})
		for i := range raw {
			raw[i] = 0xff
		}
		if got := reflect.NewAt(typ, a.Object).Interface(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v refers to the bytes", typ)
		}
	}
}

// addresses calls fn for all that can be written to through v.
func addresses(v reflect.Value, fn func(uintptr)) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*runtime.Unknown]() {
			return
		}
		if v.Type().Elem().Size() > 0 {
			fn(v.Pointer())
		}
		if v.Type().Elem().PkgPath() != "time" {
			addresses(v.Elem(), fn)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				addresses(v.Field(i), fn)
			}
		}
	case reflect.Slice:
		if v.Len() > 0 {
			fn(v.Pointer())
		}
		for i := range v.Len() {
			addresses(v.Index(i), fn)
		}
	case reflect.Map:
		if !v.IsNil() {
			fn(v.Pointer())
		}
		for it := v.MapRange(); it.Next(); {
			addresses(it.Value(), fn)
		}
	}
}

func typeOf(typ reflect.Type) *gotype.Type {
	t, err := gotype.Of(typ)
	if err != nil {
		panic(err)
	}
	return t
}
