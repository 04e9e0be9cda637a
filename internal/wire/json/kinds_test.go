package json

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"sort"
	"sync"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

var objects = flag.Int("objects", 1, "how many sequences of objects of each kind are compared with the official decoder")

func newRand(t testing.TB) *rand.Rand {
	return rand.New(rand.NewSource(int64(testseed.Of(t))))
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

func newFiller(r *rand.Rand) *randfill.Filler {
	funcs := fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, func(serializer.CodecFactory) []any {
		return []any{
			func(v *metav1.FieldsV1, c randfill.Continue) { *v = *testpods.FieldsV1(string(someJSON(c, 3))) },
			func(v *runtime.RawExtension, c randfill.Continue) { *v = runtime.RawExtension{Raw: someJSON(c, 3)} },
			func(v *resource.Quantity, c randfill.Continue) {
				formats := []resource.Format{resource.BinarySI, resource.DecimalSI, resource.DecimalExponent}
				*v = *resource.NewScaledQuantity(c.Int63n(5000), resource.Scale(c.Intn(7)-3))
				v.Format = formats[c.Intn(len(formats))]
			},
			func(v *metav1.ManagedFieldsEntry, c randfill.Continue) { c.FillNoCustom(v) },
		}
	})
	return fuzzer.FuzzerFor(funcs, r, serializer.NewCodecFactory(scheme.Scheme)).NumElements(0, 3)
}

// someJSON is an object as FieldsV1 has it.
func someJSON(c randfill.Continue, depth int) []byte {
	b := []byte{'{'}
	for i := range c.Intn(4) {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `"k:{\"name\":\"%d\"}":`, c.Intn(5)+10*i)
		if depth > 0 {
			b = append(b, someJSON(c, depth-1)...)
		} else {
			b = append(b, "[1.5e3,true,null]"...)
		}
	}
	return append(b, '}')
}

// fresh returns a new object of the kind, with all that it may have.
func (k kind) fresh(f *randfill.Filler) reflect.Value {
	v := reflect.New(k.typ)
	f.Fill(v.Interface())
	k.name(v)
	return v
}

func (k kind) name(v reflect.Value) {
	if tm := v.Elem().FieldByName("TypeMeta"); tm.IsValid() {
		tm.FieldByName("Kind").SetString(k.gvk.Kind)
		tm.FieldByName("APIVersion").SetString(k.gvk.GroupVersion().String())
	}
}

// change fills one random part of v anew.
func change(r *rand.Rand, f *randfill.Filler, v reflect.Value) {
	for {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || r.Intn(4) == 0 {
				f.Fill(v.Addr().Interface())
				return
			}
			v = v.Elem()
		case reflect.Slice:
			if v.Len() == 0 || r.Intn(4) == 0 {
				f.Fill(v.Addr().Interface())
				return
			}
			v = v.Index(r.Intn(v.Len()))
		case reflect.Struct:
			if v.NumField() == 0 || typeOf(v.Type()).DecodesItself {
				f.Fill(v.Addr().Interface())
				return
			}
			next := v.Field(r.Intn(v.NumField()))
			if !next.CanSet() {
				return
			}
			v = next
		default:
			f.Fill(v.Addr().Interface())
			return
		}
	}
}

// held is the result as its holder hands it over with the next version.
func encode(t testing.TB, v reflect.Value) []byte {
	t.Helper()
	raw, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

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
