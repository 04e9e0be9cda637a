package share

import "unsafe"

// Result is what a plan makes of an object's bytes.
type Result struct {
	// Object points to a value of the plan's type: the last version if it is
	// the Same.
	Object unsafe.Pointer
	// Memo is to be kept beside Object, and handed over with it when the next
	// version comes. It is nil if Object does not count as a last version then.
	Memo *Memo
	// Same reports that nothing differs from the last version: Object and Memo
	// are those that the plan was given.
	Same bool
	// APIVersion and Kind are what the object's own members have, if the plan
	// keeps them out of Object. They do not count for Same.
	APIVersion, Kind string
}

// Version is the result as the last version of a later one.
func (r Result) Version() Version { return VersionOf(r.Object, r.Memo) }
