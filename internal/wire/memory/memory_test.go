package memory

import (
	"reflect"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

type sample struct {
	text string
	p    *int
	n    int32
}

func TestASliceIsWhatGoSaysItIs(t *testing.T) {
	s := make([]sample, 3, 5)
	m := (*Slice)(unsafe.Pointer(&s))
	if m.Data != unsafe.Pointer(&s[0]) || m.Len != 3 || m.Cap != 5 {
		t.Fatalf("%+v", *m)
	}
	*m = SliceOf(unsafe.Pointer(&s[1]), 2)
	if len(s) != 2 || cap(s) != 2 {
		t.Fatal(len(s), cap(s))
	}
}

func TestAnInterfaceIsWhatGoSaysItIs(t *testing.T) {
	m := map[string]any{"a": 1}
	var v any = m
	if DataOf(v) != reflect.ValueOf(m).UnsafePointer() {
		t.Error("a map's data is not the map")
	}
	if got := Map[any](DataOf(v)); got["a"] != 1 {
		t.Error(got)
	}
	text := "text"
	if got := WithData("", unsafe.Pointer(&text)); got != "text" || DataOf(got) != unsafe.Pointer(&text) {
		t.Error(got)
	}
	list := &[]any{1, "b"}
	if got := WithData([]any(nil), unsafe.Pointer(list)); !reflect.DeepEqual(got, *list) || DataOf(got) != unsafe.Pointer(list) {
		t.Error(got)
	}
	var none map[string]any
	if Map[any](DataOf(none)) != nil {
		t.Error("a nil map is not nil")
	}
}

func TestZeroAndEqualSeeEveryByte(t *testing.T) {
	var words [12]uint64
	base := unsafe.Pointer(&words)
	var other [12]uint64
	for from := range uintptr(9) {
		for size := range uintptr(80) {
			p, q := unsafe.Add(base, from), unsafe.Add(unsafe.Pointer(&other), from)
			if !Zero(p, size) || !Equal(p, q, size) {
				t.Fatal("zeros are not zero")
			}
			for at := range uintptr(96) {
				*(*byte)(unsafe.Add(base, at)) = 0x80
				inside := at >= from && at < from+size
				if Zero(p, size) == inside || Equal(p, q, size) == inside {
					t.Fatalf("byte %d of %d from %d on: inside is %v", at, size, from, inside)
				}
				*(*byte)(unsafe.Add(base, at)) = 0
			}
		}
	}
}

func TestACopyIsAValueOfItsOwn(t *testing.T) {
	typ := reflect.TypeFor[sample]()
	a := &sample{"a", new(int), 3}
	b := (*sample)(CopyOf(typ, unsafe.Pointer(a)))
	if *a != *b || a == b {
		t.Fatal(*a, *b)
	}
	Clear(typ, unsafe.Pointer(a))
	if *a != (sample{}) || b.text != "a" {
		t.Fatal(*a, *b)
	}
	if At(nil, 8) != nil || At(unsafe.Pointer(b), 16) != unsafe.Pointer(&b.p) {
		t.Error("At")
	}
}

func TestArraysAreZeroAndOutliveTheirMaker(t *testing.T) {
	var m Maker
	typ := reflect.TypeFor[[]sample]()
	var kept [][]sample
	for n := 1; n < 40; n++ {
		s := unsafe.Slice((*sample)(m.Array(typ, n)), n)
		for i := range s {
			if s[i] != (sample{}) {
				t.Fatal("not zero")
			}
			s[i] = sample{text: string(rune('a' + n)), p: new(int), n: int32(n)}
		}
		for _, to := range []int{n, n + 3, max(n-2, 1)} {
			made := unsafe.Slice((*sample)(m.Copied(typ, to, SliceOf(unsafe.Pointer(&s[0]), n))), to)
			few := min(n, to)
			if !slices.Equal(made[:few], s[:few]) || slices.ContainsFunc(made[few:], func(v sample) bool { return v != sample{} }) {
				t.Fatalf("%d of %d copied: %v", to, n, made)
			}
			kept = append(kept, made)
		}
	}
	runtime.GC()
	for _, s := range kept {
		if s[0].text != string(rune('a'+s[0].n)) || s[0].p == nil {
			t.Fatal("an array was collected")
		}
	}
}
