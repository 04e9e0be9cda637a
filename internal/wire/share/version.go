package share

import (
	"sync/atomic"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// PlanID identifies one plan of one decoder, and with it the format, the Go
// type and the fields that are dropped. No two plans of a process have the same.
type PlanID uint32

var lastPlanID atomic.Uint32

// NewPlanID returns the identity of another plan.
func NewPlanID() PlanID { return PlanID(lastPlanID.Add(1)) }

// Version is the version of an object that somebody holds, with the memo that
// stood beside it. Its zero value is no version.
//
// A decoder may take memory of the last version, and leave out what it finds
// equal, only if that is what the decoder itself makes of some bytes. Nothing
// else has that property: a program's own object has empty slices where decoded
// ones are nil, another encoding sets fields that this one does not know, a plan
// that drops fields leaves them zero. So the object is reached through By alone.
type Version struct {
	object unsafe.Pointer
	memo   *Memo
}

// VersionOf pairs an object with the memo beside it. Both may be nil, and they
// need not belong together.
func VersionOf(object unsafe.Pointer, memo *Memo) Version { return Version{object, memo} }

// By returns the object and the records of its units if plan decoded this very
// object and left this memo. Otherwise it returns nil and an empty cursor.
//
// The memo has the object's address and does not keep it alive. Whoever holds
// the object together with its memo, as the store does, keeps the address from
// being used again.
func (v Version) By(plan PlanID) (object unsafe.Pointer, records Cursor) {
	m := v.memo
	if m == nil || m.plan != plan || m.object != uintptr(v.object) {
		if mutant.On(mutant.TrustForeignMemo) {
			return v.object, Cursor{}
		}
		return nil, Cursor{}
	}
	return v.object, Cursor{records: m.records()}
}

// Memo returns the memo.
func (v Version) Memo() *Memo { return v.memo }

// Compared returns the object, or nil, for a plan that compares it in full and
// so needs no memo.
func (v Version) Compared() unsafe.Pointer { return v.object }

// At returns the version as one that is known by another address. inside returns
// that address from the object's, which is not nil.
func (v Version) At(inside func(object unsafe.Pointer) unsafe.Pointer) Version {
	if v.object != nil {
		v.object = inside(v.object)
	}
	return v
}
