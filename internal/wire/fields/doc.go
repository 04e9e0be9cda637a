// Package fields knows the fields of Go types by their JSON names: which there
// are, and which of them are to be dropped. All decoders take the names of fields
// from here, so that a path to drop means the same in every encoding.
package fields
