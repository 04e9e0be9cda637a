package footprint

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// walker finds the blocks of memory that an object refers to.
type walker struct {
	// seen are the blocks of the object being walked.
	seen map[uintptr]struct{}
	// block is called once with each block. address is 0 if it is not known; sharing of
	// the block is then not detected.
	block func(address uintptr, bytes int64)
}

func newWalker() *walker { return &walker{seen: map[uintptr]struct{}{}} }

// walk calls block with each block of memory that obj refers to.
func (w *walker) walk(obj any, block func(address uintptr, bytes int64)) {
	clear(w.seen)
	w.block = block
	w.visit(reflect.ValueOf(obj))
}

// new reports whether a block is not empty and new for this object.
func (w *walker) new(address uintptr, bytes uintptr) bool {
	if address == 0 || bytes == 0 {
		return false
	}
	if _, was := w.seen[address]; was {
		return false
	}
	w.seen[address] = struct{}{}
	w.block(address, rounded(int64(bytes)))
	return true
}

func (w *walker) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if w.new(v.Pointer(), v.Type().Elem().Size()) {
			w.inside(v.Elem())
		}
	case reflect.String:
		w.new(v.Pointer(), uintptr(v.Len()))
	case reflect.Interface:
		e := v.Elem()
		switch e.Kind() {
		case reflect.Invalid:
		case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
			w.visit(e)
		default:
			w.block(0, rounded(int64(e.Type().Size())))
			w.inside(e)
		}
	case reflect.Slice:
		if w.new(v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size()) && !flat(v.Type().Elem()) {
			for i := range v.Len() {
				w.visit(v.Index(i))
			}
		}
	case reflect.Map:
		if v.IsNil() || !w.new(v.Pointer(), uintptr(MapBytes(v.Len(), v.Type().Key().Size()+v.Type().Elem().Size()))) {
			return
		}
		for entries := v.MapRange(); entries.Next(); {
			w.inside(entries.Key())
			w.inside(entries.Value())
		}
	case reflect.Array:
		for i := range v.Len() {
			w.inside(v.Index(i))
		}
	case reflect.Struct:
		own := v.Type() == fieldsV1
		for i := range v.NumField() {
			// What a field that is not exported refers to may be somebody else's, guarded by
			// a lock that only the type's own methods know: a time.Time points to the
			// location of the whole program.
			if f := v.Field(i); own || f.CanInterface() || f.Kind() == reflect.Struct {
				w.inside(f)
			}
		}
	}
}

// fieldsV1 has bytes in one build of apimachinery, and in another a string that is not
// exported.
var fieldsV1 = reflect.TypeFor[metav1.FieldsV1]()

// inside visits a value in a block that has been counted.
func (w *walker) inside(v reflect.Value) {
	// An array of elements without memory may have any number of them.
	if !flat(v.Type()) && v.Type().Size() > 0 {
		w.visit(v)
	}
}

// flat reports that values of a type refer to nothing.
func flat(t reflect.Type) bool {
	c, err := gotype.Of(t)
	return err == nil && !c.Pointers
}

// rounded approximates the allocator's size class for a number of bytes: the classes
// are 8, 16, 24 and 32, then about 12 to 25 % apart.
func rounded(bytes int64) int64 {
	switch {
	case bytes <= 32:
		return (bytes + 7) &^ 7
	case bytes <= 256:
		return (bytes + 15) &^ 15
	case bytes <= 1024:
		return (bytes + 63) &^ 63
	}
	return bytes + bytes/16
}

const (
	mapHeader = 48
	// mapDirectory is that of a map of more than eight entries: a table in a directory.
	mapDirectory = 40
)

// MapBytes estimates the memory of a map made for n entries of the given size. A
// map stores its entries in groups of eight, each with eight bytes of control. A
// map of more than one group uses at most seven of each eight.
func MapBytes(n int, entry uintptr) int {
	group := 8 + 8*int(entry)
	switch {
	case n == 0:
		return mapHeader
	case n <= 8:
		return mapHeader + group
	}
	groups := 2
	for groups*7 < n {
		groups *= 2
	}
	return mapHeader + mapDirectory + groups*group
}
