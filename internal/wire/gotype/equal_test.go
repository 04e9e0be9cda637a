package gotype

import (
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// TestEqualReadsNothingThatReadersWrite compares every kind of client-go's scheme with a
// copy while its quantities are written as text, which -race checks, and after: the same
// value, and another one after any change that DeepEqual sees.
func TestEqualReadsNothingThatReadersWrite(t *testing.T) {
	filler := randfill.NewWithSeed(int64(testkit.Seed(t))).NilChance(0.2).NumElements(1, 2).MaxDepth(12).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse([]string{"0.5Gi", "500m", "0.5", "1e3"}[c.Intn(4)])
		},
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = []byte(`{"a":1}`) },
		func(o *runtime.Object, c randfill.Continue) {},
	)
	kinds, quantities := 0, 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal {
			continue
		}
		a := filled(t, filler, gvk)
		b, other := a.DeepCopyObject(), filled(t, filler, gvk)
		var read sync.WaitGroup
		read.Go(func() { quantities += write(reflect.ValueOf(a)) })
		if !Equal(a, b) {
			t.Errorf("%v is not equal to its copy", gvk)
		}
		read.Wait()
		if !Equal(a, b) {
			t.Errorf("%v is not equal to its copy once its quantities were read", gvk)
		}
		write(reflect.ValueOf(b))
		write(reflect.ValueOf(other))
		if Equal(a, other) != reflect.DeepEqual(a, other) {
			t.Errorf("%v: two values are equal: %t", gvk, Equal(a, other))
		}
		kinds++
	}
	if kinds < 500 || quantities < 100 {
		t.Errorf("%d kinds with %d quantities", kinds, quantities)
	}
}

func filled(t *testing.T, filler *randfill.Filler, gvk schema.GroupVersionKind) runtime.Object {
	obj, err := scheme.Scheme.New(gvk)
	if err != nil {
		t.Fatal(err)
	}
	filler.Fill(obj)
	return obj
}

// write writes the text of each quantity that can be reached through exported fields, and
// returns how many there are.
func write(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			n += write(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += write(v.Index(i))
		}
	case reflect.Struct:
		if v.CanAddr() {
			if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
				_ = q.String()
				return 1
			}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += write(v.Field(i))
			}
		}
	}
	return n
}

func TestWhatIsVisibleIsCompared(t *testing.T) {
	type object struct {
		Addr   netip.Addr
		Amount resource.Quantity
		At     time.Time
		List   []string
		Map    map[string]int
		cached string
	}
	now := time.Now()
	base := object{Addr: netip.MustParseAddr("10.0.0.1"), Amount: resource.MustParse("0.5"), At: now}
	for name, c := range map[string]struct {
		change      func(*object)
		equal, same bool
	}{
		"nothing":          {func(*object) {}, true, true},
		"a decimal read":   {func(o *object) { o.Amount = resource.MustParse("0.5"); o.Amount.AsDec() }, true, true},
		"what is private":  {func(o *object) { o.cached = "x" }, true, true},
		"another location": {func(o *object) { o.At = now.UTC() }, true, true},
		"an empty list":    {func(o *object) { o.List = []string{} }, false, true},
		"an empty map":     {func(o *object) { o.Map = map[string]int{} }, false, true},
		"an address":       {func(o *object) { o.Addr = netip.MustParseAddr("10.0.0.2") }, false, false},
		"an amount":        {func(o *object) { o.Amount = resource.MustParse("0.6") }, false, false},
		"a big amount":     {func(o *object) { o.Amount = resource.MustParse("1e30") }, false, false},
		"a moment":         {func(o *object) { o.At = now.Add(1) }, false, false},
		"an element":       {func(o *object) { o.List = []string{"x"} }, false, false},
		"an entry":         {func(o *object) { o.Map = map[string]int{"x": 1} }, false, false},
	} {
		other := base
		c.change(&other)
		if Equal(base, other) != c.equal || SameContent(base, other) != c.same {
			t.Errorf("%s: equal %t, the same content %t", name, Equal(base, other), SameContent(base, other))
		}
	}
}
