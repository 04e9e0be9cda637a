// Package fields knows the fields of Go types by their JSON names: which there
// are, and which of them a set has. All decoders, and what copies objects, take the
// names of fields from here, so that a path means the same in every encoding.
package fields
