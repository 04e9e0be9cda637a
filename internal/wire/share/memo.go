package share

import (
	"sync/atomic"
	"unsafe"
)

// Record describes one unit of an object's previous version. It is 20 bytes without
// pointers, so the garbage collector never looks inside a Memo.
type Record struct {
	a0, a1, b uint32
	// size is the length of the unit's bytes.
	size uint32
	// field is which unit of its parent this is: the decoder's number for it.
	field uint16
	// kids is how many of the following records are inside this one. Its top bit
	// says whether the record is open.
	kids uint16
}

const (
	openBit = 1 << 15
	maxKids = openBit - 1
	// MaxField is the highest number that a unit can have. Units beyond are
	// not remembered.
	MaxField = 1<<16 - 1
)

// Open reports that the unit changed when it was last seen, and will most likely
// change again: it has no hash, and the decoder looks at once at what is inside.
// Mask is then the argument of NoteOpen.
func (r *Record) Open() bool { return r.kids&openBit != 0 }

// Field is the number that the unit was noted under.
func (r *Record) Field() int { return int(r.field) }

// Size is the length of the unit's bytes, for a closed record only.
func (r *Record) Size() int { return int(r.size) }

// Hash is the hash of the unit's bytes, for a closed record only.
func (r *Record) Hash() Hash { return Hash{uint64(r.a1)<<32 | uint64(r.a0), r.b} }

// Mask is the argument of NoteOpen: which fields an open unit had.
func (r *Record) Mask() uint64 { return uint64(r.a1)<<32 | uint64(r.a0) }

func (r *Record) len() int { return int(r.kids &^ openBit) }

// Memo is what a plan remembers of the object that it is stored with: the records
// of its units, each followed by those of the units inside it. It is immutable. A
// nil *Memo remembers nothing. Version.By reads it.
type Memo struct {
	// n is how many records follow it in memory.
	n uint32
	// plan made the memo, and object is where it put the object.
	plan   PlanID
	object uintptr
}

const (
	headerLen = int(unsafe.Sizeof(Memo{}))
	recordLen = int(unsafe.Sizeof(Record{}))
)

// newMemo copies records into memory of their own: the header and the records
// in one piece.
func newMemo(plan PlanID, object unsafe.Pointer, records []Record) *Memo {
	// They are words of 4 bytes without pointers. The allocator aligns memory of 16
	// bytes, which the header takes, or more to 8.
	words := make([]uint32, (headerLen+len(records)*recordLen)/4)
	m := (*Memo)(unsafe.Pointer(unsafe.SliceData(words)))
	m.n, m.plan, m.object = uint32(len(records)), plan, uintptr(object)
	copy(m.records(), records)
	return m
}

func (m *Memo) records() []Record {
	if m.n == 0 {
		// The memory after the header is not the memo's.
		return nil
	}
	return unsafe.Slice((*Record)(unsafe.Add(unsafe.Pointer(m), headerLen)), m.n)
}

// Bytes is the memory that the memo takes.
func (m *Memo) Bytes() int {
	if m == nil {
		return 0
	}
	return headerLen + int(m.n)*recordLen
}

// Of returns a copy of the memo for a copy of its object.
func (m *Memo) Of(object unsafe.Pointer) *Memo {
	if m == nil {
		return nil
	}
	return newMemo(m.plan, object, m.records())
}

// Cursor reads the records of the units directly inside one unit or the object. It
// is cheap if they are looked for in the order in which they were noted.
type Cursor struct {
	records []Record
	at      int
	rising  bool
	// walked is how many records were passed in vain.
	walked int
}

// Rising says that units will be looked for by rising numbers, as they were noted,
// elements of a list for example. Then a unit without a record costs no search.
func (c *Cursor) Rising() { c.rising = true }

// Find returns the record of a unit, or nil, and a cursor over what is inside it.
// Looking for units in another order than they were noted is allowed, and takes a
// search; after many in vain, nothing is found any more.
func (c *Cursor) Find(field int) (*Record, Cursor) {
	if c.walked > 8*len(c.records)+1024 {
		return nil, Cursor{}
	}
	from, to := c.at, len(c.records)
	for {
		for at := from; at < to; {
			r := &c.records[at]
			next := at + 1 + r.len()
			if int(r.field) == field {
				c.at = next
				return r, Cursor{records: c.records[at+1 : next]}
			}
			if c.rising && int(r.field) > field {
				c.at = at
				return nil, Cursor{}
			}
			at = next
			c.walked++
		}
		if c.rising {
			c.at = to
			return nil, Cursor{}
		}
		if from == 0 {
			return nil, Cursor{}
		}
		// Search the records before. A unit without a record does not move the
		// cursor, so that the next one is found at once.
		from, to = 0, from
	}
}

// Next returns the next record, or nil, and a cursor over what is inside it. Pass
// moves beyond it.
func (c *Cursor) Next() (*Record, Cursor) {
	if c.at >= len(c.records) {
		return nil, Cursor{}
	}
	r := &c.records[c.at]
	return r, Cursor{records: c.records[c.at+1 : c.at+1+r.len()]}
}

// Pass moves beyond the next record. There must be one.
func (c *Cursor) Pass() { c.at += 1 + c.records[c.at].len() }

// Empty reports that there is nothing to find.
func (c *Cursor) Empty() bool { return len(c.records) == 0 }

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

// Result is the result of decoding an object's bytes.
type Result struct {
	// Object points to a value of the plan's type: the previous version if it is
	// the Same.
	Object unsafe.Pointer
	// Memo is to be stored with Object, and passed with it when the next version
	// comes. It is nil if Object cannot be used as a previous version then.
	Memo *Memo
	// Same reports that nothing differs from the previous version: Object and Memo
	// are those that the plan was given.
	Same bool
	// APIVersion and Kind are those in the object's own members, if the plan
	// keeps them out of Object. They do not count for Same.
	APIVersion, Kind string
}

// Version returns the result for use as the previous version of a later one.
func (r Result) Version() Version { return VersionOf(r.Object, r.Memo) }
