package clone

import (
	"reflect"
	"strings"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// immutable are struct types that lead to no memory that their users can write to. Their
// own methods copy only the value.
var immutable = map[reflect.Type]bool{
	reflect.TypeFor[time.Time]():        true,
	reflect.TypeFor[metav1.Time]():      true,
	reflect.TypeFor[metav1.MicroTime](): true,
}

// byFields are types that are copied field by field although their methods are written
// by hand: the methods do the same.
var byFields = map[reflect.Type]bool{reflect.TypeFor[metav1.FieldsV1](): true}

// copiesItself reports that a type has a DeepCopyInto or DeepCopy that is not known to be
// generated, and so may do anything.
func copiesItself(t reflect.Type) bool {
	if t.Name() == "" || byFields[t] {
		return false
	}
	into, copies := methods(t)
	if !generated(into) || !generated(copies) {
		return true
	}
	byPointer, copiesByPointer := methods(reflect.PointerTo(t))
	// A method of the value is in the pointer's set too, as a wrapper in no file.
	return into == nil && !generated(byPointer) || copies == nil && !generated(copiesByPointer)
}

// methods returns a type's own DeepCopyInto and DeepCopy; nil for one that it does not
// have, or that an embedded struct promotes.
func methods(t reflect.Type) (into, copies *reflect.Method) {
	pointer := t
	if t.Kind() != reflect.Pointer {
		pointer = reflect.PointerTo(t)
	}
	if m, ok := t.MethodByName("DeepCopyInto"); ok && m.Type.NumIn() == 2 && m.Type.NumOut() == 0 && m.Type.In(1) == pointer {
		into = &m
	}
	if m, ok := t.MethodByName("DeepCopy"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 &&
		(m.Type.Out(0) == pointer || m.Type.Out(0) == pointer.Elem()) {
		copies = &m
	}
	return into, copies
}

// generated reports that a method is declared in a file of deepcopy-gen or
// controller-gen, or that m is nil.
func generated(m *reflect.Method) bool {
	if m == nil {
		return true
	}
	file := gotype.FileOf(*m)
	return strings.HasPrefix(file, "zz_generated") && strings.Contains(file, "deepcopy")
}

// ownCopy returns a type's DeepCopyInto as a function of addresses, or nil.
func ownCopy(t reflect.Type) copyFunc {
	into, _ := methods(reflect.PointerTo(t))
	if into == nil {
		return nil
	}
	// The calling convention of two pointers does not depend on what they point to.
	f := memory.DataOf(into.Func.Interface())
	return *(*func(from, to unsafe.Pointer))(unsafe.Pointer(&f))
}
