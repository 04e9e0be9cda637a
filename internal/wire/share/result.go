package share

import "unsafe"

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
