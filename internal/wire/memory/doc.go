// Package memory reads and writes Go values by their addresses and types, for decoders
// that follow a plan of a type instead of the type. No other package depends on how Go
// lays out a slice, an interface or a map.
//
// Pointers are written through reflect, or as pointers, so that the garbage
// collector's write barriers run.
package memory
