package clone

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// Plan copies values of one type. It is safe for concurrent use.
type Plan struct {
	typ  reflect.Type
	root *shape
	// arrays are the types of the elements that copies need memory for, those of maps
	// included. The first stands for all types without pointers.
	arrays *[]reflect.Type
	// spaces are *space.
	spaces  sync.Pool
	layouts layouts
	// own is the type's DeepCopyInto if the plan only calls that.
	own copyFunc
}

// shape describes what has to be copied of a value besides its own memory.
type shape struct {
	size uintptr
	// links are in the order of their offsets.
	links []link
	// array is the index in Plan.arrays of the array for copies of the value.
	array int
	// counted: a link leads to memory of Plan.arrays.
	counted bool
}

// link is a place in a value that leads to other memory.
type link struct {
	kind   linkKind
	offset uintptr
	// to is the shape that a pointer or slice leads to.
	to *shape
	// call copies a value that is not a pointer or slice.
	call copyFunc
}

type linkKind uint8

const (
	pointer linkKind = iota
	slice
	call
)

// copyFunc makes the value at to a deep copy of the one at from. Before the call it is a
// shallow copy.
type copyFunc func(from, to unsafe.Pointer)

var plans sync.Map // of *Plan by type; nil for a type without a plan

// Of returns the plan for values that pointers of a type point to, or nil if there is no
// plan: then there is no DeepCopyInto either. It is compiled once, which takes some
// microseconds for each field, and kept for the life of the process.
func Of(pointer reflect.Type) *Plan {
	t := pointer.Elem()
	p, ok := plans.Load(t)
	if !ok {
		p, _ = plans.LoadOrStore(t, newPlan(t))
	}
	return p.(*Plan)
}

func newPlan(typ reflect.Type) *Plan {
	if t, err := gotype.Of(typ); err == nil {
		return compile(t)
	}
	if own := ownCopy(typ); own != nil {
		return &Plan{typ: typ, own: own}
	}
	return nil
}

// Copy overwrites the value that to points to by a copy of the one that from points to.
// Both are pointers to the plan's type.
func (p *Plan) Copy(to, from any) {
	if t := reflect.TypeOf(from); t != reflect.TypeOf(to) || t.Elem() != p.typ {
		panic(fmt.Sprintf("BUG: clone: a plan of %v copies %v to %T", p.typ, t, to))
	}
	p.into(memory.DataOf(to), memory.DataOf(from))
}

func (p *Plan) into(to, from unsafe.Pointer) {
	if p.own != nil {
		memory.Clear(p.typ, to)
		p.own(from, to)
		return
	}
	s, _ := p.spaces.Get().(*space)
	if s == nil {
		s = newSpace(p)
	}
	if p.root.counted {
		s.count(p.root.links, from)
		s.allocate()
	}
	s.copy(p.root, to, from, 1)
	s.fill(p.root.links, from, to)
	s.release()
	p.spaces.Put(s)
}

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
	return !into.IsValid() && !generated(byPointer) || !copies.IsValid() && !generated(copiesByPointer)
}

// methods returns a type's own DeepCopyInto and DeepCopy; no function for one that it does
// not have, or that an embedded struct promotes.
func methods(t reflect.Type) (into, copies reflect.Value) {
	pointer := t
	if t.Kind() != reflect.Pointer {
		pointer = reflect.PointerTo(t)
	}
	if m, ok := t.MethodByName("DeepCopyInto"); ok && m.Type.NumIn() == 2 && m.Type.NumOut() == 0 && m.Type.In(1) == pointer {
		into = m.Func
	}
	if m, ok := t.MethodByName("DeepCopy"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 &&
		(m.Type.Out(0) == pointer || m.Type.Out(0) == pointer.Elem()) {
		copies = m.Func
	}
	return into, copies
}

// generated reports that a method is declared in a file of deepcopy-gen or
// controller-gen, or that there is none.
func generated(method reflect.Value) bool {
	if !method.IsValid() {
		return true
	}
	file := gotype.FileOf(method)
	return strings.HasPrefix(file, "zz_generated") && strings.Contains(file, "deepcopy")
}

// ownCopy returns a type's DeepCopyInto as a function of addresses, or nil.
func ownCopy(t reflect.Type) copyFunc {
	into, _ := methods(reflect.PointerTo(t))
	if !into.IsValid() {
		return nil
	}
	// The calling convention of two pointers does not depend on what they point to.
	f := memory.DataOf(into.Interface())
	call := *(*copyFunc)(unsafe.Pointer(&f))
	if kind := t.Kind(); kind != reflect.Map && kind != reflect.Slice {
		return call
	}
	// Generated code does not call it for nil, of which it may make an empty one.
	return func(from, to unsafe.Pointer) {
		if *(*unsafe.Pointer)(from) != nil {
			call(from, to)
		}
	}
}
