package untyped

import (
	"reflect"
	"sync"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Plan is how objects are decoded. A memo is of use only to the plan, and with
// the table, that it was made with.
type Plan struct {
	id    share.PlanID
	drops *fields.Drops
	// plain is the unit of values that nothing is dropped from, units those of
	// values in which something is.
	plain share.Unit
	units map[*fields.Drops]share.Unit
	// emptyMap and emptySlice stand for all that are empty.
	emptyMap, emptySlice any

	decoders sync.Pool // of *decoder
}

// Result is a decoded object.
type Result struct {
	// Object is the object: a fresh map of possibly shared values, or the last
	// version's map if Same.
	Object map[string]any
	// Memo is what to remember beside it; nil if nothing, or if Same, when the
	// old one stays.
	Memo *share.Memo
	// Same reports that nothing differs from the last version. kind and
	// apiVersion of the last version may be missing, as they are from items of
	// lists. The bytes that the last version was decoded from are Same, with its
	// memo. Other bytes of equal meaning need not be, where the table has a value
	// for them that is not the last version's.
	Same bool
}

// Compile makes the plan that leaves out the fields in drop. They have to be
// valid JSON and are not built: a number in one may be larger than a float64.
func Compile(drop *fields.Drops) *Plan {
	p := &Plan{
		id: share.NewPlanID(), drops: drop, plain: unitOf(nil), units: map[*fields.Drops]share.Unit{},
		emptyMap: map[string]any{}, emptySlice: []any{},
	}
	drop.All(func(d *fields.Drops) { p.units[d] = unitOf(d) })
	p.decoders.New = func() any { return &decoder{plan: p} }
	return p
}

func unitOf(d *fields.Drops) share.Unit {
	return share.UnitOf(reflect.TypeFor[map[string]any](), formats.Untyped, d.String())
}

func (p *Plan) unit(d *fields.Drops) share.Unit {
	if d == nil {
		return p.plain
	}
	return p.units[d]
}
