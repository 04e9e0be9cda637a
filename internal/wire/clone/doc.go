// Package clone copies objects by plans that are compiled from their Go types. A
// copy is equal to that of the type's generated DeepCopyInto, nil and empty slices
// and maps included, and shares no memory with the original that can be written to.
// It is written directly to the caller's memory.
//
// # What lives here
//
//	plan.go     Of and Plan: what is copied, and which types field by field
//	compile.go  a type's plan
//	space.go    one copy: memory counted, allocated, filled
//	layout.go   the arrays of a copy in one allocation
//	maps.go     maps, and slices of JSON
//
// # Which types
//
// A plan copies a type field by field if its methods DeepCopyInto and DeepCopy are
// declared in a file whose name begins with "zz_generated" and has "deepcopy" in it,
// which is where deepcopy-gen and controller-gen write them. A type with such a method in
// another file is copied by that method, wherever it occurs. A field for which there is
// no plan is copied by the method of the closest enclosing type that has one. Such fields
// are interfaces, functions, and structs without a DeepCopyInto that lead to other memory.
//
// # Memory
//
// The memory that the pointers and slices of one copy lead to is counted first. Elements
// of one type are in one array, all elements without pointers in another, and the arrays
// in one allocation if copies of this size came before. So a reference to a container of
// a copied pod keeps the memory of that pod alive, and of no other. Slices have no spare
// capacity: append moves them.
//
// Writing to an object while it is copied is a data race, as with DeepCopyInto. The copy
// is then undefined, but no memory beyond its own is written.
package clone
