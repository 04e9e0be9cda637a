package ctrlruntime

import (
	"reflect"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copier copies objects of one type.
type copier struct {
	// method is the type's DeepCopyInto; invalid if it has none of the usual form.
	method reflect.Value
}

// copiers has a copier for each type, by reflect.Type.
var copiers sync.Map

// copierOf returns the copier of a pointer's type.
func copierOf(pointer reflect.Type) *copier {
	if c, ok := copiers.Load(pointer); ok {
		return c.(*copier)
	}
	c := &copier{}
	if m, ok := pointer.MethodByName("DeepCopyInto"); ok {
		if t := m.Type; t.NumIn() == 2 && t.In(1) == pointer && t.NumOut() == 0 {
			c.method = m.Func
		}
	}
	copiers.Store(pointer, c)
	return c
}

// into copies obj, which from is the value of, to where into points.
func (c *copier) into(obj runtime.Object, from, into reflect.Value) {
	if c.method.IsValid() {
		into.Elem().SetZero()
		c.method.Call([]reflect.Value{from, into})
		return
	}
	into.Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
}

// fillList makes objs the items of a list, or copies of them.
func (k *kind) fillList(out client.ObjectList, objs []client.Object, shared *bool) error {
	items, ok := itemsOf(out)
	if !ok {
		return k.setList(out, objs, shared)
	}
	elem := items.Type().Elem()
	pointers := elem.Kind() == reflect.Pointer
	if pointers {
		elem = elem.Elem()
	}
	if len(objs) > 0 && reflect.TypeOf(objs[0]) != reflect.PointerTo(elem) {
		return k.setList(out, objs, shared)
	}
	filled := reflect.MakeSlice(items.Type(), len(objs), len(objs))
	for i, obj := range objs {
		at := filled.Index(i)
		switch {
		case !pointers:
			at = at.Addr()
		case k.shares(obj.GetNamespace(), shared):
			at.Set(reflect.ValueOf(obj))
			continue
		default:
			at.Set(reflect.New(elem))
		}
		if err := k.fill(at.Interface().(client.Object), obj, k.shares(obj.GetNamespace(), shared)); err != nil {
			return err
		}
	}
	items.Set(filled)
	return nil
}

// itemsOf returns the items of a list that is filled in place: one whose items are of a
// type that is known from Go.
func itemsOf(out client.ObjectList) (items reflect.Value, ok bool) {
	pointer, err := apimeta.GetItemsPtr(out)
	if err != nil {
		return items, false
	}
	items = reflect.ValueOf(pointer).Elem()
	elem := items.Type().Elem()
	object := reflect.TypeFor[client.Object]()
	return items, elem.Implements(object) && elem.Kind() == reflect.Pointer || reflect.PointerTo(elem).Implements(object) && elem.Kind() == reflect.Struct
}

// setList fills a list of interfaces or of another type than the objects'.
func (k *kind) setList(out client.ObjectList, objs []client.Object, shared *bool) error {
	items := make([]runtime.Object, len(objs))
	for i, obj := range objs {
		items[i] = obj
		if !k.shares(obj.GetNamespace(), shared) {
			items[i] = obj.DeepCopyObject()
			items[i].GetObjectKind().SetGroupVersionKind(k.gvk)
		}
	}
	return apimeta.SetList(out, items)
}
