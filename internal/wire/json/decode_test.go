package json

import (
	"math/rand"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/randfill"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// version is an object that was decoded, and the bytes that it came from.
type version struct {
	kind kind
	raw  []byte
	r    share.Result
}

// sequence decodes an object's life, and returns its versions.
func sequence(t *testing.T, s *share.Session, k kind, r *rand.Rand, f *randfill.Filler) []version {
	object := k.fresh(f)
	first := encode(t, object)
	held := version{k, first, k.plan.mustEqual(t, s, first, share.Version{})}
	all := []version{held}
	next := func(raw []byte) share.Result {
		t.Helper()
		r := k.plan.mustEqual(t, s, raw, held.r.Version())
		if !r.Same {
			held = version{k, raw, r}
			all = append(all, held)
		}
		return r
	}
	again := func(raw []byte) {
		t.Helper()
		was := held.r
		if !next(raw).Same && was.Memo != nil && !k.plan.lazyInside(was) {
			t.Fatalf("%v: the same bytes are not the same object\n%s", k.gvk, raw)
		}
	}
	again(first)
	for range 4 {
		for range 1 + r.Intn(3) {
			change(r, f, object.Elem())
		}
		k.name(object)
		raw := encode(t, object)
		next(raw)
		again(raw)
	}
	next(first)
	again(first)
	return all
}

// maxHeld is how many versions are looked at again at the end.
const maxHeld = 20_000

func TestEveryKindIsWhatTheOfficialDecoderMakesOfIt(t *testing.T) {
	r := newRand(t)
	f := newFiller(r)
	shared := share.NewSession(share.NewTable(0))
	var all []version
	met, alone := 0, 0
	for range *objects {
		for _, k := range compileKinds() {
			for _, v := range sequence(t, shared, k, r, f) {
				if v.r.Memo == nil {
					alone++
				}
				d := decoder{session: share.NewSession(nil), raw: v.raw, maker: &memory.Maker{}}
				if _, n := v.kind.plan.fast(&d, 0, share.Version{}); n != len(v.raw) && nesting(v.raw) <= maxDepth {
					t.Errorf("%v leaves the fast road: %s", v.kind.gvk, v.raw)
				}
				// Of a long run not all can be kept.
				if met++; len(all) < maxHeld {
					all = append(all, v)
				} else if i := r.Intn(met); i < maxHeld {
					all[i] = v
				}
			}
			sequence(t, share.NewSession(nil), k, r, f)
		}
	}
	t.Logf("%d versions of %d kinds; table: %+v", met, len(compileKinds()), shared.Table.Stats())
	// What nests too deep has none.
	if alone > met/100 {
		t.Errorf("%d of %d versions have no memo", alone, met)
	}
	t.Logf("%d versions have no memo", alone)
	for _, v := range all {
		want, _, _, err := v.kind.plan.reference(v.raw)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(v.kind.plan.value(v.r).Interface(), want.Interface()) {
			t.Fatalf("%v was changed after it was decoded:\n%s", v.kind.gvk, v.raw)
		}
		if nesting(v.raw) <= maxDepth {
			exact(t, v.kind.plan.value(v.r), map[any]bool{})
		}
	}
}

// lazyInside reports that an object has a Quantity with an address that its
// String would write.
func (p *Plan) lazyInside(r share.Result) bool {
	seen := map[any]bool{}
	var look func(v reflect.Value) bool
	look = func(v reflect.Value) bool {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.UnsafePointer()] {
				return false
			}
			seen[v.UnsafePointer()] = true
			return look(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				if look(v.Index(i)) {
					return true
				}
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				if look(v.MapIndex(k)) {
					return true
				}
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[resource.Quantity]() {
				return v.CanAddr() && v.FieldByName("s").Len() == 0
			}
			for i := range v.NumField() {
				if look(v.Field(i)) {
					return true
				}
			}
		}
		return false
	}
	return look(p.value(r))
}

// nesting is how deep valid JSON nests.
func nesting(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// exact fails if a slice has room behind its end.
func exact(t *testing.T, v reflect.Value, seen map[any]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || seen[v.UnsafePointer()] {
			return
		}
		seen[v.UnsafePointer()] = true
		exact(t, v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				exact(t, v.Field(i), seen)
			}
		}
	case reflect.Slice:
		if v.Len() != v.Cap() {
			t.Fatalf("%v: length %d, capacity %d", v.Type(), v.Len(), v.Cap())
		}
		for i := range v.Len() {
			exact(t, v.Index(i), seen)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			exact(t, v.MapIndex(k), seen)
		}
	}
}
