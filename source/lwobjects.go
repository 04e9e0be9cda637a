package source

import (
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

var errNilItem = errors.New("got nil where an object was due")

// objectOf returns the item of an object that lw returned.
func objectOf[T any](obj runtime.Object, want *expected) Item[T] {
	t, ok := obj.(T)
	err := want.check(obj)
	switch {
	case err != nil:
	case isNil(obj):
		err = errNilItem
	case !ok:
		err = &KindError{WantType: reflect.TypeFor[T](), GotType: reflect.TypeOf(obj)}
	default:
		return ItemOf(t)
	}
	var id encoding.Identity
	if m, err := meta.Accessor(obj); err == nil && !isNil(obj) {
		id.Key, _ = metaKey(m)
		id.UID, id.Version = m.GetUID(), m.GetResourceVersion()
	}
	return brokenItem[T](StageDecode, id, err)
}

// eventOf converts an event that lw's watch sent.
func eventOf[T any](in watch.Event, want *expected) Event[T] {
	e := Event[T]{Type: eventType(string(in.Type))}
	status, _ := in.Object.(*metav1.Status)
	switch {
	case e.Type == Unknown:
		if m, err := meta.Accessor(in.Object); err == nil && !isNil(in.Object) {
			e.Key, _ = metaKey(m)
			e.ResourceVersion = m.GetResourceVersion()
		}
		e.Err = unknownType(string(in.Type))
	case in.Object == nil || isNil(in.Object):
		e.noObject(nil)
	case e.Type == Error && status == nil:
		e.Err = otherError(in.Object)
	case e.Type == Error || status != nil:
		e.Type = Error
		e.Err = apierrors.FromObject(in.Object)
	case e.Type == Bookmark:
		m, err := meta.Accessor(in.Object)
		if err == nil {
			err = want.check(in.Object)
		}
		if err != nil {
			m = &metav1.ObjectMeta{}
		}
		e.bookmark(m, err)
	default:
		e.Item = objectOf[T](in.Object, want)
	}
	return e
}
