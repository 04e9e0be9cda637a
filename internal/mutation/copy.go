package mutation

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// deepCopy returns a copy of obj that shares no writable memory with it. It uses
// DeepCopyObject if obj has that method, otherwise reflection.
func deepCopy[T any](obj T) T {
	if o, ok := any(obj).(runtime.Object); ok && reflect.TypeFor[T]().Kind() != reflect.Struct {
		// It may be the method of a type that this one embeds.
		if c, ok := copyObject(o).(T); ok && reflect.TypeOf(c) == reflect.TypeOf(obj) {
			return c
		}
	}
	var c T
	(&copier{done: map[done]reflect.Value{}}).copy(reflect.ValueOf(&c).Elem(), reflect.ValueOf(&obj).Elem())
	return c
}

// copyObject returns nil if the object's own method fails: that of an unstructured
// object panics on values that JSON does not have.
func copyObject(o runtime.Object) (c runtime.Object) {
	defer func() {
		if recover() != nil {
			c = nil
		}
	}()
	return o.DeepCopyObject()
}

// copier copies by reflection. A value that is reached twice is copied once.
type copier struct{ done map[done]reflect.Value }

type done struct {
	ptr address
	len int
	typ reflect.Type
}

// copy makes to, which has an address, a copy of from.
func (c *copier) copy(to, from reflect.Value) {
	if to = open(to); !to.CanSet() {
		return
	}
	t := from.Type()
	switch from.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			c.copy(to.Field(i), from.Field(i))
		}
	case reflect.Array:
		// An array without memory may have any number of elements.
		for i := range from.Len() * int(min(t.Size(), 1)) {
			c.copy(to.Index(i), from.Index(i))
		}
	case reflect.Pointer:
		c.once(to, from, 1, func() reflect.Value { return reflect.New(t.Elem()) }, func(p reflect.Value) {
			c.copy(p.Elem(), from.Elem())
		})
	case reflect.Slice:
		n := from.Len()
		c.once(to, from, n, func() reflect.Value { return reflect.MakeSlice(t, n, n) }, func(s reflect.Value) {
			for i := range n {
				c.copy(s.Index(i), from.Index(i))
			}
		})
	case reflect.Map:
		c.once(to, from, 0, func() reflect.Value { return reflect.MakeMapWithSize(t, from.Len()) }, func(m reflect.Value) {
			for e := from.MapRange(); e.Next(); {
				// Keys are not copied deeply: a copied pointer would be another key.
				key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
				if e.Key().CanInterface() {
					key.Set(e.Key())
				} else {
					c.copy(key, e.Key())
				}
				c.copy(value, e.Value())
				m.SetMapIndex(key, value)
			}
		})
	case reflect.Interface:
		if !from.IsNil() {
			v := reflect.New(from.Elem().Type()).Elem()
			c.copy(v, from.Elem())
			to.Set(v)
		}
	default:
		c.scalar(to, from)
	}
}

// once fills a new value with fill, or uses the value that was made from the same
// memory before.
func (c *copier) once(to, from reflect.Value, n int, make func() reflect.Value, fill func(reflect.Value)) {
	if from.IsNil() {
		return
	}
	key := done{from.UnsafePointer(), n, from.Type()}
	v, ok := c.done[key]
	if !ok {
		v = make()
		if v.Type() != from.Type() {
			v = v.Convert(from.Type()) // of a named pointer type
		}
		c.done[key] = v
		fill(v)
	}
	to.Set(v)
}

// scalar copies a value without inner values, also from an unexported field.
func (c *copier) scalar(to, from reflect.Value) {
	switch k := from.Kind(); {
	case from.CanInterface():
		to.Set(from)
	case k == reflect.String:
		to.SetString(from.String())
	case k == reflect.Bool:
		to.SetBool(from.Bool())
	case from.CanInt():
		to.SetInt(from.Int())
	case from.CanUint():
		to.SetUint(from.Uint())
	case from.CanFloat():
		to.SetFloat(from.Float())
	case from.CanComplex():
		to.SetComplex(from.Complex())
	default:
		// Functions, channels and unsafe pointers are not copied deeply.
		if from = open(from); from.CanInterface() {
			to.Set(from)
		}
	}
}
