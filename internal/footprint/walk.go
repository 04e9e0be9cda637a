package footprint

import "reflect"

// walker finds the blocks of memory that an object refers to.
type walker struct {
	// seen are the blocks of the object being walked.
	seen map[uintptr]struct{}
	// block is called once with each block. address is 0 if it is not known; sharing of
	// the block is then not detected.
	block func(address uintptr, bytes int64)
	// flat remembers which types refer to nothing.
	flat map[reflect.Type]bool
}

func newWalker() *walker {
	return &walker{seen: map[uintptr]struct{}{}, flat: map[reflect.Type]bool{}}
}

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
		if w.new(v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size()) && !w.isFlat(v.Type().Elem()) {
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
		for i := range v.NumField() {
			w.inside(v.Field(i))
		}
	}
}

// inside visits a value in a block that has been counted.
func (w *walker) inside(v reflect.Value) {
	if !w.isFlat(v.Type()) {
		w.visit(v)
	}
}

// isFlat reports whether values of a type refer to nothing.
func (w *walker) isFlat(t reflect.Type) bool {
	flat, known := w.flat[t]
	if known {
		return flat
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.String, reflect.Interface, reflect.Slice, reflect.Map:
		// The insides of channels and functions are not counted.
	case reflect.Array:
		flat = w.isFlat(t.Elem())
	case reflect.Struct:
		flat = true
		for i := range t.NumField() {
			flat = flat && w.isFlat(t.Field(i).Type)
		}
	default:
		flat = true
	}
	w.flat[t] = flat
	return flat
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
