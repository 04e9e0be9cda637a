package protobuf

import (
	"flag"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/internal/testrepeat"
	"github.com/kinglet-go/kinglet/internal/testseed"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

var objectsFlag = flag.Int("objects", testrepeat.Times(2), "objects of each kind in the comparison with the official decoder")

func newRand(t testing.TB) *rand.Rand {
	return rand.New(rand.NewSource(int64(testseed.Of(t))))
}

// codec is what gogo generates for each kind.
type codec interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// kinds are the Go types of client-go's scheme that have a protobuf encoding.
func kinds() []reflect.Type {
	seen := map[reflect.Type]bool{}
	var res []reflect.Type
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		if reflect.PointerTo(typ).Implements(reflect.TypeFor[codec]()) && !seen[typ] {
			seen[typ] = true
			res = append(res, typ)
		}
	}
	slices.SortFunc(res, func(a, b reflect.Type) int {
		return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name())
	})
	return res
}

// filler fills objects as apimachinery's own round trips do, with longer lists,
// quantities of every notation, and managed fields.
func filler(rnd *rand.Rand) *randfill.Filler {
	own := func(runtimeserializer.CodecFactory) []any {
		return []any{
			func(q *resource.Quantity, c randfill.Continue) {
				texts := []string{"0", "100m", "1Gi", "512Mi", "1.5Gi", "3e6", "12345678901234567890123", "0.000000001", "-7", "1000"}
				*q = resource.MustParse(texts[c.Intn(len(texts))])
			},
			func(j *metav1.ManagedFieldsEntry, c randfill.Continue) {
				c.FillNoCustom(j)
				j.FieldsV1 = testpods.FieldsV1(`{"f:` + c.String(0) + `":{}}`)
			},
		}
	}
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, own), rand.NewSource(rnd.Int63()), scheme.Codecs).
		NilChance(.3).NumElements(0, 3)
}

// mutate fills some fields of an object again, somewhere in it.
func mutate(f *randfill.Filler, rnd *rand.Rand, v reflect.Value) {
	for range 1 + rnd.Intn(3) {
		mutateOne(f, rnd, v)
	}
}

func mutateOne(f *randfill.Filler, rnd *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.NumField() == 0 || v.Type().PkgPath() == "time" || v.Type() == quantityType || v.Type() == timeType {
			break
		}
		if field := v.Field(rnd.Intn(v.NumField())); field.CanSet() && rnd.Intn(5) > 0 {
			mutateOne(f, rnd, field)
			return
		}
	case reflect.Pointer:
		if !v.IsNil() && rnd.Intn(5) > 0 {
			mutateOne(f, rnd, v.Elem())
			return
		}
	case reflect.Slice:
		if v.Len() > 0 && rnd.Intn(5) > 0 {
			mutateOne(f, rnd, v.Index(rnd.Intn(v.Len())))
			return
		}
	}
	if v.CanAddr() && v.CanSet() && v.Kind() != reflect.Interface && !strings.HasSuffix(v.Type().Name(), "TypeMeta") {
		f.Fill(v.Addr().Interface())
	}
}

func encode(t testing.TB, v reflect.Value) []byte {
	t.Helper()
	raw, err := v.Interface().(codec).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// unmarshaled is what the official decoder makes of raw.
func unmarshaled(t testing.TB, typ reflect.Type, raw []byte) any {
	t.Helper()
	v := reflect.New(typ).Interface()
	if err := v.(codec).Unmarshal(raw); err != nil {
		t.Fatalf("the official decoder: %v", err)
	}
	return v
}

func compile(t testing.TB, typ reflect.Type, drop ...string) *Plan {
	t.Helper()
	drops, err := gotype.NewDrops(drop)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(typ, drops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
