package json

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Plan decodes objects of one Go type. It is immutable and safe for concurrent
// use.
type Plan struct {
	root  *node
	drops *drops
	// typeMeta is where the type's TypeMeta stands, which Same does not
	// depend on.
	typeMeta struct{ from, to uintptr }
	// spare are decoders that are not in use.
	spare sync.Pool
	// roots are objects that were made for what turned out to be the last
	// version: of *root's type, zeroed.
	roots sync.Pool
}

// Compile returns the plan for a struct type. drop names fields that are not
// to be decoded, by the path of their JSON names, for example
// "metadata.managedFields"; a path leads through pointers, and into each
// element of a slice or map ("spec.containers.env").
//
// It returns a *TypeError if encoding/json would not decode the type field by
// field, and a *PathError for a path that leads nowhere. It takes about a
// millisecond for a Pod.
func Compile(typ reflect.Type, drop []string) (*Plan, error) {
	if typ == nil || typ.Kind() != reflect.Struct || kindOf(typ) != opStruct {
		return nil, &TypeError{typ}
	}
	for _, path := range drop {
		if err := checkDrop(typ, path); err != nil {
			return nil, err
		}
	}
	p := &Plan{drops: newDrops(drop)}
	c := compiler{nodes: map[nodeKey]*node{}}
	p.root = c.node(typ, p.drops)
	if p.root.op != opStruct || c.unsure {
		return nil, &TypeError{typ}
	}
	p.identify()
	return p, nil
}

// identify marks the fields of the object's TypeMeta. The root's node is the
// plan's own, since the type could stand inside itself.
func (p *Plan) identify() {
	was := p.root
	root := &node{
		op: opStruct, typ: was.typ, size: was.size, unit: was.unit, drops: was.drops,
		fields: slices.Clone(was.fields), names: was.names, quantities: was.quantities, text: was.text,
	}
	p.root = root
	for i := range root.typ.NumField() {
		f := root.typ.Field(i)
		if !f.Anonymous || f.Type != reflect.TypeFor[metav1.TypeMeta]() && f.Type != reflect.TypeFor[runtime.TypeMeta]() {
			continue
		}
		p.typeMeta.from, p.typeMeta.to = f.Offset, f.Offset+f.Type.Size()
	}
	for i := range root.fields {
		f := &root.fields[i]
		if f.offset < p.typeMeta.from || f.offset >= p.typeMeta.to || f.node.op != opString {
			continue
		}
		switch root.names.list[i] {
		case "kind":
			f.identity = isKind
		case "apiVersion":
			f.identity = isAPIVersion
		}
	}
}

// Result is what became of an object.
type Result struct {
	// Object points to a value of the plan's type; to the last version if it
	// is the Same.
	Object unsafe.Pointer
	// Memo is what to hand over with Object when its next version comes. If
	// the object is the Same it is the one that was given.
	Memo *share.Memo
	// Same: nothing differs from the last version, so keep that and its memo.
	Same bool
	// APIVersion and Kind are what the object says of itself at top level,
	// empty if it does not: items of a list do not. They are not put into the
	// object, and do not count for Same.
	APIVersion, Kind string
}
