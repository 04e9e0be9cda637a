// Package clone copies objects by plans that are compiled from their Go types. A
// copy is equal to that of the type's generated DeepCopyInto, nil and empty slices
// and maps included, and shares no memory with the original that can be written to.
// It goes straight into memory of the caller's.
//
// # What lives here
//
//	plan.go     Of and Plan: what is copied, and of what
//	compile.go  a type's plan
//	proof.go    which types a plan may copy field by field
//	space.go    one copy: memory counted, allocated, filled
//	layout.go   the arrays of a copy in one allocation
//	maps.go     maps
//	untyped.go  maps and slices of JSON
//
// # Which types
//
// A plan copies a type field by field if its methods DeepCopyInto and DeepCopy are
// declared in a file whose name begins with "zz_generated" and has "deepcopy" in it,
// which is where deepcopy-gen and controller-gen write them. A type with such a method in
// another file is copied by that method, wherever it stands; so is the closest
// enclosing type that has one, of a field that no plan is known for: an interface, a
// function, a struct that has no DeepCopyInto and leads to other memory.
//
// # Memory
//
// What the pointers and slices of one copy lead to is counted first. Elements of one
// type stand in one array, all elements without pointers in another, and the arrays in
// one allocation if copies of this size came before. So whoever keeps a container of a
// copied pod keeps the memory of that pod, and of no other. Slices have no room behind
// their end: append moves them.
//
// An object that somebody writes to while it is copied is a data race, as with
// DeepCopyInto; the copy is then undefined, but no memory beyond its own is written.
package clone
