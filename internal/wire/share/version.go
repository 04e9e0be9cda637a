package share

import (
	"sync/atomic"
	"unsafe"
)

// PlanID identifies one plan of one decoder, and with it the format, the Go type
// and the dropped fields. It is unique in the process.
type PlanID uint32

var lastPlanID atomic.Uint32

// NewPlanID returns a new PlanID.
func NewPlanID() PlanID { return PlanID(lastPlanID.Add(1)) }

// Version is a held version of an object, with the memo that was stored with it. Its
// zero value is no version.
//
// A decoder may take memory of the previous version, and skip equal parts, only if the
// decoder itself made that version from bytes. Other objects may differ: a program's
// own has empty slices where decoded ones are nil, another encoding sets fields that
// this one does not know, a plan that drops fields leaves them zero. So only By
// gives access to the object.
type Version struct {
	object unsafe.Pointer
	memo   *Memo
}

// VersionOf pairs an object with the memo stored with it. Both may be nil, and they
// need not belong together.
func VersionOf(object unsafe.Pointer, memo *Memo) Version { return Version{object, memo} }

// By returns the object and the records of its units if plan decoded this very
// object and left this memo. Otherwise it returns nil and an empty cursor.
//
// The memo has the object's address and does not keep the object alive. Holding the
// object together with its memo, as the store does, prevents that the address is
// used again.
func (v Version) By(plan PlanID) (object unsafe.Pointer, records Cursor) {
	m := v.memo
	if m == nil || m.plan != plan || m.object != uintptr(v.object) {
		return nil, Cursor{}
	}
	return v.object, Cursor{records: m.records()}
}

// Memo returns the memo.
func (v Version) Memo() *Memo { return v.memo }

// At returns the version with another address. inside returns that address for the
// object's, which is not nil.
func (v Version) At(inside func(object unsafe.Pointer) unsafe.Pointer) Version {
	if v.object != nil {
		v.object = inside(v.object)
	}
	return v
}
