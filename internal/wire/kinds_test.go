package wire

import (
	"bytes"
	"encoding/binary"
	"flag"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/filler"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/store"
)

var objects = flag.Int("objects", testkit.Trials(2), "how many histories of each kind are compared with the official decoders")

// kinds are the Go types of client-go's scheme.
var kinds = func() []reflect.Type {
	types := map[reflect.Type]bool{}
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		types[typ] = true
	}
	return slices.SortedFunc(maps.Keys(types), func(a, b reflect.Type) int {
		return strings.Compare(a.PkgPath()+"."+a.Name(), b.PkgPath()+"."+b.Name())
	})
}()

// subjectOf is a kind, typed or unstructured, with those fields to drop that it has.
func subjectOf(typ reflect.Type, untyped bool) subject {
	of := subject{typ: typ, budget: 2000}
	for _, path := range []string{
		"metadata.managedFields", "metadata.annotations", "spec.template.spec.containers.env", "spec.template.metadata", "spec.containers.env",
	} {
		if _, err := gotype.DropsOf(typ, nil, []string{path}); err == nil {
			of.drop = append(of.drop, path)
		}
	}
	if untyped {
		of.typ, of.from = unstructuredType, typ
	}
	return of
}

// The rig over every kind of client-go's scheme, from each encoding, by structure, and
// as unstructured objects: the plan decodes what the official encoder wrote, and
// remembers it.
func TestObjectsOfEveryKindAreWhatTheOfficialDecodersMakeOfThem(t *testing.T) {
	seed := testkit.Seed(t)
	decodings, planned, left := 0, 0, 0
	for n := range 2 * len(kinds) * *objects {
		of := subjectOf(kinds[n/2%len(kinds)], n%2 == 1)
		r, err := newRigOf(of, filler.NewScript(binary.LittleEndian.AppendUint64(nil, seed+uint64(n))))
		if err != nil {
			t.Fatal(err)
		}
		err = r.run(rigSteps)
		decodings, planned, left = decodings+r.decodings, planned+r.planned, left+r.left
		if err != nil {
			t.Fatalf("-seed %d: %v: %v", seed+uint64(n), kinds[n/2%len(kinds)], err)
		}
	}
	t.Logf("%d versions of %d kinds; %d by plans, %d left to the official decoders", decodings, len(kinds), planned, left)
	if len(kinds) < 300 || left > planned/100 {
		t.Errorf("%d kinds; %d objects by plans, %d left to the official decoders", len(kinds), planned, left)
	}
}

func TestEqualBytesAreTheSameObjectAndWithoutATableNothingIsShared(t *testing.T) {
	seed := testkit.Seed(t)
	for n, typ := range kinds {
		r, err := newRigOf(subjectOf(typ, n%3 == 2), filler.NewScript(binary.LittleEndian.AppendUint64(nil, seed+uint64(n))))
		if err != nil {
			t.Fatal(err)
		}
		graph, err := gotype.Of(r.subject.typ)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range r.subject.formats() {
			raw, err := encoded(r.now, format)
			if err != nil {
				t.Fatal(err)
			}
			decode := func(s *share.Session, last Last[any]) Object[any] {
				t.Helper()
				o, _, err := r.decoders[0].Decode(format, s, slices.Clone(raw), last)
				if err != nil {
					t.Fatalf("%v: %v", typ, err)
				}
				return o
			}
			o := decode(r.session, Last[any]{})
			again := decode(r.session, Last[any]{Object: o.Value, Memo: o.Memo, Held: true})
			hides := graph.HidesState
			if format == formats.JSON {
				hides = false
				visitStates(reflect.ValueOf(o.Value), func(uintptr, bool) { hides = true })
			}
			if !again.Same && !hides || again.Same && (again.Value != o.Value || again.Memo != o.Memo) {
				t.Errorf("%v, format %d: the same bytes are not the same object", typ, format)
			}
			if obj, ok := o.Value.(metav1.Object); ok {
				key, read := Key(format, raw)
				if want := (store.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}); read && key != want || !read && want != (store.Key{}) && !bytes.Contains(raw, []byte{'\\'}) {
					t.Errorf("%v, format %d: the key %v was read (%v), not %v", typ, format, key, read, want)
				}
			}
			alone := share.NewSession(nil)
			a, b := decode(alone, Last[any]{}), decode(alone, Last[any]{Object: o.Value, Memo: o.Memo, Held: true})
			if b.Same || a.Memo != nil || b.Memo != nil {
				t.Errorf("%v, format %d: something is remembered without a table", typ, format)
			}
			seen := map[uintptr]bool{}
			for i, v := range []any{a.Value, b.Value, o.Value} {
				own := map[uintptr]bool{}
				addresses(reflect.ValueOf(v), func(p uintptr) { own[p] = true })
				for p := range own {
					if i < 2 && seen[p] {
						t.Fatalf("%v, format %d: two objects share memory", typ, format)
					}
					seen[p] = true
				}
				if typ, room := roomIn(reflect.ValueOf(v)); room {
					t.Errorf("%v, format %d: a %v has room behind its end", r.subject.typ, format, typ)
				}
			}
		}
	}
}

// addresses calls visit for all that can be written to through v.
func addresses(v reflect.Value, visit func(uintptr)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type().Elem().Size() > 0 && v.Type().Elem().PkgPath() != "time" {
			visit(v.Pointer())
			addresses(v.Elem(), visit)
		}
	case reflect.Interface:
		addresses(v.Elem(), visit)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				addresses(v.Field(i), visit)
			}
		}
	case reflect.Slice:
		if v.Len() > 0 {
			visit(v.Pointer())
		}
		for i := range v.Len() {
			addresses(v.Index(i), visit)
		}
	case reflect.Map:
		if !v.IsNil() {
			visit(v.Pointer())
		}
		for it := v.MapRange(); it.Next(); {
			addresses(it.Value(), visit)
		}
	}
}

// roomIn finds a slice with room behind its end. Bytes may be made by decoders of types.
func roomIn(v reflect.Value) (typ reflect.Type, found bool) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return roomIn(v.Elem())
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !found; i++ {
			if v.Type().Field(i).IsExported() {
				typ, found = roomIn(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Len() != v.Cap() && v.Type().Elem().Kind() != reflect.Uint8 {
			return v.Type(), true
		}
		for i := 0; i < v.Len() && !found; i++ {
			typ, found = roomIn(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next() && !found; {
			typ, found = roomIn(it.Value())
		}
	}
	return typ, found
}

// Each runs the rig with a small table in common, so that entries are evicted meanwhile.
func TestDecodersOfOneTableDoNotDisturbEachOther(t *testing.T) {
	seed := testkit.Seed(t)
	table := share.NewTable(1 << 19)
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for n := range uint64(testkit.Trials(80)) {
				script := filler.NewScript(binary.LittleEndian.AppendUint64(nil, seed+g<<32+n))
				r, err := newRigOf(filler.Pick(script, subjects), script)
				if err != nil {
					t.Error(err)
					return
				}
				r.session, r.structure = share.NewSession(table), NewStructure[any](table)
				if err := r.run(rigSteps); err != nil {
					t.Errorf("-seed %d, goroutine %d, trial %d: %v", seed, g, n, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
