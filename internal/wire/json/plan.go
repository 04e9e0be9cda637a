package json

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/state"
)

// Plan decodes objects of one Go type. It is immutable and safe for concurrent
// use.
type Plan struct {
	id    share.PlanID
	root  *node
	drops *fields.Drops
	// typeMeta is where the type's TypeMeta is, which Same does not depend on;
	// empty if kind and apiVersion are not decoded into one.
	typeMeta span
	// spare are decoders that are not in use.
	spare sync.Pool
	// roots are zeroed objects of *root's type: they were made for objects that
	// turned out to be the previous version.
	roots sync.Pool
}

// Compile returns the plan for a struct type, without the fields in drop. It
// returns a *TypeError if encoding/json would not decode the type field by field.
// It takes about a millisecond for a Pod.
func Compile(typ reflect.Type, drop *fields.Drops) (*Plan, error) {
	if typ == nil || typ.Kind() != reflect.Struct || kindOf(typ) != opStruct {
		return nil, &TypeError{Type: typ}
	}
	p := &Plan{id: share.NewPlanID(), drops: drop}
	c := compiler{nodes: map[nodeKey]*node{}, hiding: state.NewHiding(fields.DecodesItself), left: fields.MaxParts}
	p.root = c.node(typ, p.drops)
	done := map[*node]bool{}
	for _, n := range c.nodes {
		c.enclose(n, done)
	}
	if c.left < 0 {
		return nil, &TypeError{Type: typ, Large: true}
	}
	c.enlarge()
	if p.root.op != opStruct || c.unsure {
		return nil, &TypeError{Type: typ}
	}
	p.identify()
	return p, nil
}

// span is a part of a struct, from one offset up to another.
type span struct{ from, to uintptr }

// KindApart reports that a Result has the object's kind and apiVersion, and the
// object does not. Otherwise the type has no TypeMeta into which both are decoded:
// the object has them in its fields of these names, if any, and the Result has
// neither.
func (p *Plan) KindApart() bool { return p.typeMeta.to > 0 }

// identify marks the fields of the object's TypeMeta, its own or that of a struct
// that it embeds. The root's node is the plan's own, since the type could contain
// itself.
func (p *Plan) identify() {
	was := p.root
	root := &node{
		op: opStruct, typ: was.typ, size: was.size, unit: was.unit, drops: was.drops,
		fields: slices.Clone(was.fields), names: was.names, quantities: was.quantities, text: was.text, holds: was.holds, alone: was.alone,
	}
	p.root = root
	left := fields.MaxParts
	for _, at := range typeMetas(root.typ, 0, &left) {
		kind, version := p.fieldIn(at, "kind"), p.fieldIn(at, "apiVersion")
		if kind == nil || version == nil {
			// Another field of the name hides one of them.
			continue
		}
		kind.identity, version.identity = isKind, isAPIVersion
		p.typeMeta = at
		return
	}
}

// fieldIn returns the root's string field of that name, if it is within at.
func (p *Plan) fieldIn(at span, name string) *field {
	for i := range p.root.fields {
		f := &p.root.fields[i]
		if p.root.names.list[i] == name && f.node.op == opString && at.from <= f.offset && f.offset < at.to {
			return f
		}
	}
	return nil
}

// typeMetas returns the places of the TypeMetas whose fields are among typ's in
// JSON: typ's own, and those of structs that it embeds, of which left bounds the number.
// typ is at offset.
func typeMetas(typ reflect.Type, offset uintptr, left *int) []span {
	var all []span
	*left -= typ.NumField()
	for i := 0; i < typ.NumField() && *left > 0; i++ {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.Anonymous || name != "" || f.Type.Kind() != reflect.Struct:
		case f.Type == reflect.TypeFor[metav1.TypeMeta]() || f.Type == reflect.TypeFor[runtime.TypeMeta]():
			all = append(all, span{offset + f.Offset, offset + f.Offset + f.Type.Size()})
		default:
			all = append(all, typeMetas(f.Type, offset+f.Offset, left)...)
		}
	}
	return all
}
