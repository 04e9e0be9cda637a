package gotype

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		if !Equal(a, b, false) {
			t.Errorf("%v is not equal to its copy", gvk)
		}
		read.Wait()
		if !Equal(a, b, false) {
			t.Errorf("%v is not equal to its copy once its quantities were read", gvk)
		}
		write(reflect.ValueOf(b))
		write(reflect.ValueOf(other))
		if Equal(a, other, false) != reflect.DeepEqual(a, other) {
			t.Errorf("%v: two values are equal: %t", gvk, Equal(a, other, false))
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

// write writes the text of each quantity that can be reached without a map, and returns how
// many there are.
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
			n += write(writable(v.Field(i)))
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
		own    string
	}
	now := time.Now()
	base := object{Addr: netip.MustParseAddr("10.0.0.1"), Amount: resource.MustParse("0.5"), At: now}
	for name, c := range map[string]struct {
		change      func(*object)
		equal, same bool
	}{
		"nothing":          {func(*object) {}, true, true},
		"a decimal read":   {func(o *object) { o.Amount = resource.MustParse("0.5"); o.Amount.AsDec() }, true, true},
		"what is private":  {func(o *object) { o.own = "x" }, false, false},
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
		if Equal(base, other, false) != c.equal || SameContent(base, other, false) != c.same {
			t.Errorf("%s: equal %t, the same content %t", name, Equal(base, other, false), SameContent(base, other, false))
		}
	}
}

type (
	message struct {
		sizeCache int32
		own, Text string
	}
	locked struct {
		mu   sync.Mutex
		Text string
	}
	computed struct {
		once       sync.Once
		text, Name string
	}
)

func (*message) ProtoReflect() {}

func TestWhatReadersMayWriteIsNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		a, b  any
		equal bool
	}{
		"the size of a message":       {&message{sizeCache: 1, Text: "x"}, &message{sizeCache: 2, Text: "x"}, true},
		"the size of an old message":  {&struct{ XXX_sizecache int32 }{1}, &struct{ XXX_sizecache int32 }{2}, true},
		"the text of a message":       {&message{Text: "x"}, &message{Text: "y"}, false},
		"a message's own state":       {&message{own: "x"}, &message{own: "y"}, false},
		"beside a lock, the same":     {&locked{Text: "x"}, &locked{Text: "x"}, true},
		"beside a lock, another":      {&locked{Text: "x"}, &locked{Text: "y"}, false},
		"what may have been computed": {&computed{text: "x"}, &computed{text: "x"}, false},
	} {
		if Equal(c.a, c.b, false) != c.equal {
			t.Errorf("%s: equal is not %t", name, c.equal)
		}
	}
	l := &locked{}
	l.mu.Lock()
	if !Equal(l, &locked{}, false) {
		t.Error("a lock is compared")
	}
	for name, c := range map[string]struct {
		a, b  any
		equal bool
	}{
		"what is computed":      {&computed{text: "x"}, &computed{text: "y"}, true},
		"what is not":           {&computed{Name: "x"}, &computed{Name: "y"}, false},
		"what has no guard":     {&message{own: "x"}, &message{own: "y"}, true},
		"a value of its own":    {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), false},
		"what embeds one of it": {&struct{ computed }{computed{Name: "x"}}, &struct{ computed }{computed{Name: "y"}}, false},
	} {
		if Equal(c.a, c.b, true) != c.equal || SameContent(c.a, c.b, true) != c.equal {
			t.Errorf("%s, of one version: equal is not %t", name, c.equal)
		}
	}
	(&computed{}).once.Do(func() {})
}

// TestEqualSeesEveryChangeInTypesOfOnesOwn makes random types with exported and unexported
// fields. It compares two equal values of each, and then two that differ in one leaf.
func TestEqualSeesEveryChangeInTypesOfOnesOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	leaves := 0
	for range testkit.Trials(2_000) {
		typ, seed := typeOf(r, 4), r.Uint64()
		a, b := made(typ, seed, -1), made(typ, seed, -1)
		var read sync.WaitGroup
		read.Go(func() { write(b.v) })
		if !Equal(a.v.Interface(), b.v.Interface(), false) || !Equal(a.v.Elem().Interface(), made(typ, seed, -1).v.Elem().Interface(), false) {
			t.Fatalf("%v: two equal values are not", typ)
		}
		read.Wait()
		if leaves += a.leaves; a.leaves == 0 {
			continue
		}
		if at := r.IntN(a.leaves); Equal(a.v.Interface(), made(typ, seed, at).v.Interface(), false) {
			t.Fatalf("%v: another leaf %d of %d is not seen", typ, at, a.leaves)
		}
	}
	if leaves < 1_000 {
		t.Errorf("only %d leaves", leaves)
	}
}

var leafTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[float64](), reflect.TypeFor[any](),
	reflect.TypeFor[resource.Quantity](), reflect.TypeFor[time.Time](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[netip.Addr](),
}

// typeOf returns a random type of so many levels at most.
func typeOf(r *rand.Rand, levels int) reflect.Type {
	if levels == 0 || levels < 4 && r.IntN(3) == 0 {
		return leafTypes[r.IntN(len(leafTypes))]
	}
	inner := levels - 1
	switch {
	case levels == 4 || r.IntN(2) == 0:
		fields := make([]reflect.StructField, 1+r.IntN(4))
		for i := range fields {
			fields[i] = reflect.StructField{Name: fmt.Sprint("F", i), Type: typeOf(r, inner)}
			if r.IntN(2) == 0 {
				fields[i].Name, fields[i].PkgPath = fmt.Sprint("f", i), "example.org/own"
			}
		}
		return reflect.StructOf(fields)
	case r.IntN(3) == 0:
		return reflect.PointerTo(typeOf(r, inner))
	case r.IntN(2) == 0:
		return reflect.SliceOf(typeOf(r, inner))
	}
	return reflect.MapOf(reflect.TypeFor[string](), typeOf(r, inner))
}

// making fills a value. Of its leaves that with the number other has another value.
type making struct {
	r             *rand.Rand
	leaves, other int
	v             reflect.Value
}

// made returns a pointer to a value that seed decides.
func made(typ reflect.Type, seed uint64, other int) *making {
	m := &making{r: rand.New(rand.NewPCG(seed, 0)), other: other, v: reflect.New(typ)}
	m.fill(m.v.Elem())
	return m
}

func (m *making) fill(v reflect.Value) {
	if slices.Contains(leafTypes, v.Type()) {
		n := m.r.IntN(1000)
		if m.leaves == m.other {
			n += 1000
		}
		m.leaves++
		m.leaf(v, n)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if m.r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			m.fill(v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), m.r.IntN(3), 3))
		for i := range v.Len() {
			m.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range m.r.IntN(3) {
			elem := reflect.New(v.Type().Elem()).Elem()
			m.fill(elem)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint(i)), elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.fill(writable(v.Field(i)))
		}
	}
}

func (m *making) leaf(v reflect.Value, n int) {
	at := time.Unix(int64(n), 0).In([]*time.Location{time.UTC, time.Local}[m.r.IntN(2)])
	var leaf any
	switch v.Interface().(type) {
	case string:
		leaf = fmt.Sprint(n)
	case int, nil:
		leaf = n
	case float64:
		leaf = float64(n)
	case resource.Quantity:
		leaf = resource.MustParse(fmt.Sprint(n, []string{"m", "", "Mi", "e3", "000000000000000000000"}[m.r.IntN(5)]))
	case time.Time:
		leaf = at
	case metav1.Time:
		leaf = metav1.NewTime(at)
	case netip.Addr:
		leaf = netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})
	}
	v.Set(reflect.ValueOf(leaf))
}
