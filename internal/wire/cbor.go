package wire

import (
	"maps"
	"reflect"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/structure"
)

// cborPlan decodes objects of one Go type from CBOR with apimachinery's decoder, and
// shares equal parts by structure: an API server shuffles the members of every map
// and struct that it writes, so equal objects hardly ever have equal bytes. It is
// safe for concurrent use.
type cborPlan struct {
	typ   reflect.Type
	drops *fields.Drops
	// apart: kind and apiVersion are in the Result (json.Plan.KindApart).
	apart     bool
	structure *structure.Plan
	sharers   sync.Pool // of *structure.Sharer
}

// compileCBOR makes the plan of a struct type, whose pointers are runtime.Objects,
// without the fields in drop. apart: kind and apiVersion are to be in the Result.
func compileCBOR(typ reflect.Type, drop *fields.Drops, apart bool) (*cborPlan, error) {
	s, err := structure.Compile(typ)
	if err != nil {
		return nil, err
	}
	return &cborPlan{typ: typ, drops: drop, apart: apart, structure: s}, nil
}

// Decode decodes one object, which is all of raw. last may be a version of it by any
// plan: the two are compared in full, so no memo is needed.
func (p *cborPlan) Decode(s *share.Session, raw []byte, last share.Version) (r share.Result, n int, err error) {
	v := reflect.New(p.typ)
	obj := v.Interface().(runtime.Object)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object, err = official.UntypedCBOR(raw)
		p.drops.ClearUntyped(u.Object)
	} else if err = official.CBOR(raw, obj); err == nil {
		p.drops.Clear(v)
	}
	if err != nil {
		return r, len(raw), err
	}
	if p.apart {
		r.APIVersion, r.Kind = obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	r.Object = v.UnsafePointer()
	if s.Table != nil {
		held := last.Compared()
		r.Object = p.share(s, r.Object, held)
		if r.Same = r.Object == held; r.Same {
			r.Memo = last.Memo()
		}
	}
	return r, len(raw), nil
}

// share returns the object to keep instead of a decoded one.
func (p *cborPlan) share(s *share.Session, object, last unsafe.Pointer) unsafe.Pointer {
	x, ok := p.sharers.Get().(*structure.Sharer)
	if !ok {
		x = p.structure.Sharer(s)
	}
	x.Use(s)
	defer func() {
		x.Use(nil)
		p.sharers.Put(x)
	}()
	if p.typ != reflect.TypeFor[unstructured.Unstructured]() {
		return x.Share(object, last)
	}
	u, borrowed := (*unstructured.Unstructured)(object), []string(nil)
	if last != nil {
		borrowed = borrowKind(u.Object, (*unstructured.Unstructured)(last).Object)
	}
	kept := x.Share(object, last)
	if kept == last {
		return last
	}
	// The outermost map is the object's own, since its kind may still be set.
	own := &unstructured.Unstructured{Object: maps.Clone((*unstructured.Unstructured)(kept).Object)}
	for _, name := range borrowed {
		delete(own.Object, name)
	}
	return unsafe.Pointer(own)
}

// borrowKind gives an object without kind and apiVersion those of its previous
// version: items of lists do not have them. It returns the names.
func borrowKind(object, last map[string]any) (names []string) {
	for _, name := range [...]string{"apiVersion", "kind"} {
		if _, ok := object[name]; ok {
			continue
		}
		if v, ok := last[name]; ok {
			object[name] = v
			names = append(names, name)
		}
	}
	return names
}
