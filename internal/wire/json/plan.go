package json

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Plan decodes objects of one Go type. It is immutable and safe for concurrent
// use.
type Plan struct {
	id    share.PlanID
	root  *node
	drops *gotype.Drops
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
// returns a *TypeError if encoding/json would not decode the type field by field, and a
// *gotype.TooLargeError if it leads to too many others.
// It takes about a millisecond for a Pod.
func Compile(typ reflect.Type, drop *gotype.Drops) (*Plan, error) {
	if typ == nil || typ.Kind() != reflect.Struct {
		return nil, &TypeError{Type: typ}
	}
	t, err := gotype.Of(typ)
	if err != nil {
		return nil, err
	}
	var c compiler
	c.Fill = c.fill
	root := c.Root(t, drop)
	if root.op != opStruct || c.unsure {
		return nil, &TypeError{Type: typ}
	}
	c.enlarge()
	// The root's node is the plan's own, since the type could contain itself.
	own := *root
	own.fields = slices.Clone(own.fields)
	p := &Plan{id: share.NewPlanID(), root: &own, drops: drop}
	p.identify(t)
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
// that it embeds.
func (p *Plan) identify(t *gotype.Type) {
	for _, at := range typeMetas(t, 0) {
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

// typeMetas returns the places of the TypeMetas whose fields are among t's in
// JSON: t's own, and those of structs that it embeds. t is at offset.
func typeMetas(t *gotype.Type, offset uintptr) []span {
	var all []span
	for i := range t.Fields {
		f := &t.Fields[i]
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.Embedded || name != "" || f.Type.Kind != reflect.Struct:
		case f.Type.Go == reflect.TypeFor[metav1.TypeMeta]() || f.Type.Go == reflect.TypeFor[runtime.TypeMeta]():
			all = append(all, span{offset + f.Offset, offset + f.Offset + f.Type.Size})
		default:
			all = append(all, typeMetas(f.Type, offset+f.Offset)...)
		}
	}
	return all
}

// ErrNotObject means that no JSON object begins where Decode was to read one.
var ErrNotObject = errors.New("json: not an object")

// TypeError is returned by Compile for a type that encoding/json would not
// decode field by field.
type TypeError struct{ Type reflect.Type }

func (e *TypeError) Error() string {
	return fmt.Sprintf("json: %v is no struct that is decoded field by field", e.Type)
}
