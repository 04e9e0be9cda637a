// Package scan finds where JSON begins and ends, in bytes at hand.
//
// It looks at eight bytes at a time, in one 64-bit word, without unsafe and
// without branches that depend on the text where that can be avoided: what is
// mostly names of ten bytes has a bracket, a quote or a comma so often that
// each mispredicted branch would cost more than the word.
//
// Nothing here recurses, so no nesting is too deep for it, and nothing here
// allocates but what Unescape appends to. All functions are safe for
// concurrent use.
//
// Extents (Value, Extent) are told by strings and brackets alone: a backslash
// takes the next byte's meaning as quote or backslash away, brackets count
// outside of strings, and a closing bracket closes either kind. Of valid JSON
// the answer is right; of anything else it is some extent, and whoever decodes
// it finds the fault. String, Number, Literal and Valid are exact: they accept
// what encoding/json accepts.
package scan
