// Package state tells from a Go type what its values may hide.
//
// Objects are read by many goroutines, and a method that looks like a read may
// write: Quantity.String caches its result, a protobuf message keeps its size
// and its descriptor in fields that it writes atomically, a struct with a mutex
// is locked. Two owners of one such value disturb each other, and a decoder that
// compares or copies it races with its readers. So a value is shared, compared
// or copied only if its type proves that nothing is hidden in it.
//
// The proof is by the type alone: exported fields of plain kinds, and what these
// lead to. Methods that cache in an exported field are not seen; such a type
// breaks the rule that objects are read-only in the open.
package state
