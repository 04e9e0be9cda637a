package untyped

import (
	"sync"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Plan says how objects are decoded. A memo is of use only to the plan, and
// with the table, that it was made with.
type Plan struct {
	id share.PlanID
	// top is what to drop, nil if nothing.
	top *node
	// plain is the unit of what nothing is dropped from.
	plain share.Unit
	// emptyMap and emptySlice stand for all that are empty.
	emptyMap, emptySlice any

	decoders sync.Pool // of *decoder
}

// Result is a decoded object.
type Result struct {
	// Object is the object: fresh on the outside, or last if Same.
	Object map[string]any
	// Memo is what to remember beside it; nil if nothing, or if Same, when the
	// old one stays.
	Memo *share.Memo
	// Same: nothing differs from the last version. kind and apiVersion of the
	// last version may be missing, as they are from items of lists. The bytes
	// that the last version was decoded from are Same, with its memo. Other
	// bytes that say the same need not be, where the table has a value for
	// them that is not the last version's.
	Same bool
}

// Compile makes the plan that leaves out the members which drop names: paths
// of JSON names, as in "metadata.managedFields", that lead through arrays to
// each of their elements. What is left out has to be valid JSON, and is not
// built: a number in it may be larger than a float64. A *PathError says what is wrong with a path.
func Compile(drop []string) (*Plan, error) {
	top, err := parse(drop)
	if err != nil {
		return nil, err
	}
	p := &Plan{id: share.NewPlanID(), top: top, plain: unitOf(nil), emptyMap: map[string]any{}, emptySlice: []any{}}
	p.decoders.New = func() any { return &decoder{plan: p} }
	return p, nil
}

func (p *Plan) unit(n *node) share.Unit {
	if n == nil {
		return p.plain
	}
	return n.unit
}
