// Package state determines from a Go type whether its values may have hidden state.
//
// Many goroutines read objects, and a method that looks like a read may write:
// Quantity.String caches its result, a protobuf message keeps its size and its
// descriptor in fields that it writes atomically, a struct with a mutex is locked. If
// two objects share such a value, their users interfere, and a decoder that compares
// or copies it races with its readers. So a value is shared, compared or copied only
// if its type proves that it has no hidden state.
//
// The proof uses only the type: exported fields of plain kinds, and the types that
// these lead to. It does not detect methods that cache in an exported field; such a
// type openly breaks the rule that objects are read-only.
package state
