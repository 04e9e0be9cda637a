package ctrlruntime

import (
	"fmt"
	"reflect"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/internal/wire/clone"
)

// filling hands out the objects of one read.
type filling struct {
	kind *kind
	// asked is the call's UnsafeDisableDeepCopy option; nil if it has none.
	asked *bool

	// in is the namespace that shared applies to, if known is set.
	in            string
	known, shared bool
	// of is the type that plan copies, nil before the first. plan is nil for a type that has
	// no method but DeepCopyObject.
	of   reflect.Type
	plan *clone.Plan
}

// shares reports whether objects of a namespace are handed out without a copy.
func (f *filling) shares(ns string) bool {
	if !f.known || ns != f.in {
		f.in, f.known, f.shared = ns, true, f.kind.shares(ns, f.asked)
	}
	return f.shared
}

// object fills out with the held object, or with a copy of it with apiVersion and kind.
func (f *filling) object(out client.Object, stored any, ns string) error {
	obj, ok := stored.(client.Object)
	if !ok {
		return fmt.Errorf("cache contained %T, which is not an Object", stored)
	}
	from, to := reflect.TypeOf(obj), reflect.TypeOf(out)
	if from != to {
		return fmt.Errorf("cache had type %s, but %s was asked for", from, to)
	}
	if f.shares(ns) {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(obj).Elem())
		return nil
	}
	if f.of != from {
		f.of, f.plan = from, clone.Of(from)
	}
	if f.plan != nil {
		f.plan.Copy(out, obj)
	} else {
		copied := obj.DeepCopyObject()
		if is := reflect.TypeOf(copied); is != to { // its method is that of a type that it embeds
			return fmt.Errorf("DeepCopyObject of a %s returned a %s", from, is)
		}
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(copied).Elem())
	}
	switch at := out.GetObjectKind().(type) {
	case *metav1.TypeMeta:
		at.APIVersion, at.Kind = f.kind.apiVersion, f.kind.gvk.Kind
	default:
		if at.GroupVersionKind() != f.kind.gvk {
			at.SetGroupVersionKind(f.kind.gvk)
		}
	}
	return nil
}

// list sets the items of a list to objs, or to copies of them.
func (f *filling) list(out client.ObjectList, objs []client.Object) error {
	items, ok := itemsOf(out)
	if !ok {
		return f.setList(out, objs)
	}
	elem := items.Type().Elem()
	pointers := elem.Kind() == reflect.Pointer
	if pointers {
		elem = elem.Elem()
	}
	if len(objs) > 0 && reflect.TypeOf(objs[0]) != reflect.PointerTo(elem) {
		return f.setList(out, objs)
	}
	filled := reflect.MakeSlice(items.Type(), len(objs), len(objs))
	for i, obj := range objs {
		at, ns := filled.Index(i), obj.GetNamespace()
		switch {
		case !pointers:
			at = at.Addr()
		case f.shares(ns):
			at.Set(reflect.ValueOf(obj))
			continue
		default:
			at.Set(reflect.New(elem))
		}
		if err := f.object(at.Interface().(client.Object), obj, ns); err != nil {
			return err
		}
	}
	items.Set(filled)
	return nil
}

// itemsOf returns the items of a list that can be filled in place: one whose items are
// structs that are objects, or pointers to them.
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

// setList fills a list whose items are interfaces, or not of the objects' type.
func (f *filling) setList(out client.ObjectList, objs []client.Object) error {
	items := make([]runtime.Object, len(objs))
	for i, obj := range objs {
		items[i] = obj
		if ns := obj.GetNamespace(); !f.shares(ns) {
			own := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
			if err := f.object(own, obj, ns); err != nil {
				return err
			}
			items[i] = own
		}
	}
	return apimeta.SetList(out, items)
}
