// Package fields lists the fields of Go types by their JSON names, and has sets of
// them. All decoders, and the copying of objects, take the names of fields from here,
// so that a path means the same in every encoding.
package fields
