package json

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"reflect"
	"slices"
	"sort"
	"sync"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func newRand(t testing.TB) *rand.Rand {
	return rand.New(rand.NewSource(int64(testkit.Seed(t))))
}

// kind is one kind of client-go's scheme. A type that has many, as those of
// options have one in each group, is there once.
type kind struct {
	gvk  schema.GroupVersionKind
	typ  reflect.Type
	plan *Plan
}

var compileKinds = sync.OnceValue(func() []kind {
	first := map[reflect.Type]kind{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if k, ok := first[typ]; gvk.Version != "__internal" && (!ok || gvk.String() < k.gvk.String()) {
			first[typ] = kind{gvk: gvk, typ: typ}
		}
	}
	var kinds []kind
	for typ, k := range first {
		plan, err := Compile(typ, nil)
		if err != nil {
			panic(err)
		}
		k.plan = plan
		kinds = append(kinds, k)
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].gvk.String() < kinds[j].gvk.String() })
	return kinds
})

// official is what apimachinery's decoder makes of raw, its TypeMeta apart.
func (p *Plan) reference(raw []byte) (v reflect.Value, kind, apiVersion string, err error) {
	v = reflect.New(p.root.typ)
	if err := utiljson.Unmarshal(raw, v.Interface()); err != nil {
		return v, "", "", err
	}
	for i, f := range p.root.fields {
		if f.identity == notIdentity {
			continue
		}
		s := (*string)(unsafe.Add(v.UnsafePointer(), f.offset))
		if p.root.names.list[i] == "kind" {
			kind = *s
		} else {
			apiVersion = *s
		}
		*s = ""
	}
	return v, kind, apiVersion, nil
}

// value is what a result points to.
func (p *Plan) value(r share.Result) reflect.Value { return reflect.NewAt(p.root.typ, r.Object) }

// mustEqual decodes raw and compares the result with the official decoder's.
func (p *Plan) mustEqual(t testing.TB, s *share.Session, raw []byte, last share.Version) share.Result {
	t.Helper()
	b := bytes.Clone(raw)
	r, n, err := p.Decode(s, b, last)
	if err != nil {
		t.Fatalf("%v: %v\n%s", p.root.typ, err, raw)
	}
	// Whoever kept some of the bytes has others now.
	for i := range b {
		b[i] = '#'
	}
	want, kind, apiVersion, err := p.reference(raw)
	if err != nil {
		t.Fatalf("%v: the official decoder says %v\n%s", p.root.typ, err, raw)
	}
	if n != len(raw) || r.Kind != kind || r.APIVersion != apiVersion {
		t.Fatalf("%v: decoded %d of %d bytes of a %q of %q", p.root.typ, n, len(raw), r.Kind, r.APIVersion)
	}
	if !gotype.Identical(p.value(r), want) {
		t.Fatalf("%v: unlike the official decoder's:\n%s\n got %s\nwant %s", p.root.typ, raw, spell(p.value(r)), spell(want))
	}
	if r.Same && share.VersionOf(r.Object, r.Memo) != last {
		t.Fatalf("%v: the same, but not the last version", p.root.typ)
	}
	return r
}

func spell(v reflect.Value) []byte {
	b, _ := json.MarshalIndent(v.Interface(), "", " ")
	return b
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

// mustAgree decodes bytes that may be anything.
func (p *Plan) mustAgree(t testing.TB, s *share.Session, raw []byte, last share.Version) (share.Result, bool) {
	t.Helper()
	r, n, err := p.Decode(s, raw, last)
	if errors.Is(err, ErrNotObject) {
		if start := scan.Space(raw, 0); raw[start] == '{' {
			t.Fatalf("an object is none: %q", raw)
		}
		return r, false
	}
	if tooLarge := (*scan.ExponentError)(nil); errors.As(err, &tooLarge) {
		return r, false // the official decoder would take hours
	}
	whole := raw
	if n > 0 {
		whole = raw[:n]
	}
	want, kind, apiVersion, wantErr := p.reference(whole)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v: error %v, the official decoder's is %v\n%q", p.root.typ, err, wantErr, raw)
	}
	if err != nil {
		if n == 0 && err != io.ErrUnexpectedEOF || n > 0 && err.Error() != wantErr.Error() {
			t.Fatalf("%v: %d bytes, error %v, the official decoder's is %v\n%q", p.root.typ, n, err, wantErr, raw)
		}
		return r, false
	}
	if !gotype.Identical(p.value(r), want) || r.Kind != kind || r.APIVersion != apiVersion {
		t.Fatalf("%v: unlike the official decoder's:\n%q\n got %s\nwant %s", p.root.typ, raw, spell(p.value(r)), spell(want))
	}
	return r, true
}

func drops(t testing.TB, paths ...string) *gotype.Drops {
	d, err := gotype.NewDrops(paths)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func typeOf(typ reflect.Type) *gotype.Type {
	t, err := gotype.Of(typ)
	if err != nil {
		panic(err)
	}
	return t
}

func members(p *Plan) []gotype.Member { return slices.Clone(typeOf(p.root.typ).Members()) }
