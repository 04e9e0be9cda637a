package source

import (
	"fmt"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// ObjectKey returns the key that every source here uses: namespace and name. It
// shares the object's strings and does not allocate. It fails for an object
// without a name, and for a T that is no metav1.Object.
func ObjectKey[T any](obj T) (store.Key, error) {
	m, err := accessor(obj)
	if err != nil {
		return store.Key{}, err
	}
	return metaKey(m)
}

// IsPartial reports that an object lacks fields because Options.Keep or Drop left them out,
// other than managed fields. Such an object must not be written back: an Update or
// UpdateStatus would remove them from the server's.
func IsPartial(obj metav1.Object) bool { return objectmeta.IsPartial(obj) }

func metaKey(m metav1.Object) (store.Key, error) {
	name := m.GetName()
	if name == "" {
		return store.Key{}, &NamelessError{m}
	}
	return store.Key{Namespace: m.GetNamespace(), Name: name}, nil
}

func accessor[T any](obj T) (metav1.Object, error) {
	switch m := any(obj).(type) {
	case metav1.Object:
		return m, nil
	case metav1.ObjectMetaAccessor:
		if om := m.GetObjectMeta(); om != nil {
			return om, nil
		}
	}
	return nil, fmt.Errorf("%T has no object metadata", obj)
}

// ItemOf returns the item of an object, for a Source that has objects and no
// bytes. Its Err is an *ItemError of StageKey if the object has no name or no
// metadata, or if its methods panic, as those of a type that embeds a nil pointer
// do. The object is not copied.
func ItemOf[T any](obj T) (it Item[T]) {
	defer func() {
		if v := recover(); v != nil {
			it = brokenItem[T](StageKey, encoding.Identity{}, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	m, err := accessor(obj)
	if err != nil {
		return brokenItem[T](StageKey, encoding.Identity{}, err)
	}
	id := encoding.Identity{UID: m.GetUID(), Version: m.GetResourceVersion()}
	if id.Key, err = metaKey(m); err != nil {
		return brokenItem[T](StageKey, id, &NamelessError{obj})
	}
	return Item[T]{Key: id.Key, UID: id.UID, ResourceVersion: id.Version, Object: obj}
}

// brokenItem returns the item of an object that was lost in stage.
func brokenItem[T any](stage Stage, id encoding.Identity, err error) Item[T] {
	it := identified[T](id)
	it.Err = &ItemError{Stage: stage, Key: id.Key, ResourceVersion: id.Version, Err: errtype.Sound(err)}
	return it
}

// identified returns an item that has only an identity.
func identified[T any](id encoding.Identity) Item[T] {
	return Item[T]{Key: id.Key, UID: id.UID, ResourceVersion: id.Version}
}

// identity returns what is known of an item's object.
func (it *Item[T]) identity() encoding.Identity {
	return encoding.Identity{Key: it.Key, UID: it.UID, Version: it.ResourceVersion}
}

// withoutObject returns it without its object and memo.
func withoutObject[T, W any](it *Item[W]) Item[T] {
	return Item[T]{Key: it.Key, UID: it.UID, ResourceVersion: it.ResourceVersion, Err: it.Err, Size: it.Size}
}
