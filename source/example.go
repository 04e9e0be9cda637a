package source

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrNoExample: T is an interface, and no Example says what to decode into.
var ErrNoExample = errors.New("an interface needs Options.Example to say which type to decode into")

// expected is the type, and perhaps the kind, that an object must have.
type expected struct {
	// typ is the Go type; nil if T is an interface and there is no Example.
	typ reflect.Type
	// gvk is the kind that an unstructured object must have, if not empty.
	gvk schema.GroupVersionKind
}

// expect returns what T and example ask for. example may be nil.
func expect[T any](example runtime.Object) (expected, error) {
	static := reflect.TypeFor[T]()
	open := static.Kind() == reflect.Interface
	typ := reflect.TypeOf(example)
	switch {
	case typ == nil && open:
		return expected{}, nil
	case typ == nil:
		return expected{typ: static}, nil
	case open && !typ.Implements(static), !open && typ != static:
		return expected{}, fmt.Errorf("the Example is a %s, which is no %s", typ, static)
	}
	want := expected{typ: typ}
	if u, ok := example.(*unstructured.Unstructured); ok && u != nil {
		want.gvk = u.GroupVersionKind()
	}
	return want, nil
}

// String describes such objects for people.
func (w *expected) String() string {
	switch {
	case w.typ == nil:
		return "objects of any type"
	case !w.gvk.Empty():
		return w.gvk.String()
	}
	return w.typ.String()
}

// metadata reports whether only objects' metadata is wanted.
func (w *expected) metadata() bool { return w.typ == partialType }

// check returns a *KindError if obj is not what is expected. It allocates only
// then.
func (w *expected) check(obj runtime.Object) error {
	if w.typ != nil && reflect.TypeOf(obj) != w.typ {
		e := &KindError{Want: w.gvk, WantType: w.typ, GotType: reflect.TypeOf(obj)}
		if !isNil(obj) {
			e.Got = obj.GetObjectKind().GroupVersionKind()
		}
		return e
	}
	if !w.gvk.Empty() && !isNil(obj) {
		if got := obj.GetObjectKind().GroupVersionKind(); got != w.gvk {
			return &KindError{Want: w.gvk, Got: got}
		}
	}
	return nil
}
