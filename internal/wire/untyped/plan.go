package untyped

import (
	"reflect"
	"sync"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Plan decodes objects. A memo is of use only to the plan, and with the table, that
// it was made with.
type Plan struct {
	id    share.PlanID
	drops *gotype.Drops
	// plain is the unit of values from which nothing is dropped; units has those of
	// the others.
	plain share.Unit
	units map[*gotype.Drops]share.Unit
	// emptyMap and emptySlice are used for all empty values.
	emptyMap, emptySlice any

	decoders sync.Pool // of *decoder
}

// Result is a decoded object.
type Result struct {
	// Object is the object: a fresh map of possibly shared values, or the previous
	// version's map if Same.
	Object map[string]any
	// Memo is to be stored with Object. It is nil if there is nothing to remember,
	// or if Same, when the old one stays.
	Memo *share.Memo
	// Same reports that nothing differs from the previous version. The bytes may lack
	// the previous version's kind and apiVersion, as items of lists do. The bytes that
	// the previous version was decoded from are Same, with its memo. Other bytes of
	// equal meaning need not be, if the table has another value for them.
	Same bool
}

// Compile returns a plan that leaves out the fields in drop. Their values must be
// valid JSON but are not built: a number may be larger than a float64.
func Compile(drop *gotype.Drops) *Plan {
	p := &Plan{
		id: share.NewPlanID(), drops: drop, plain: unitOf(nil), units: map[*gotype.Drops]share.Unit{},
		emptyMap: map[string]any{}, emptySlice: []any{},
	}
	drop.All(func(d *gotype.Drops) { p.units[d] = unitOf(d) })
	p.decoders.New = func() any { return &decoder{plan: p} }
	return p
}

func unitOf(d *gotype.Drops) share.Unit {
	return share.UnitOf(reflect.TypeFor[map[string]any](), formats.Untyped, d.String())
}

func (p *Plan) unit(d *gotype.Drops) share.Unit {
	if d == nil {
		return p.plain
	}
	return p.units[d]
}
