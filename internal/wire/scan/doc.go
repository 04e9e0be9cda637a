// Package scan finds where JSON values begin and end, in bytes at hand.
//
// It processes eight bytes at a time, in one 64-bit word, without unsafe and if
// possible without branches that depend on the text: JSON that is mostly names of
// ten bytes has a bracket, a quote or a comma so often that each mispredicted branch
// would cost more than the word.
//
// Nothing here recurses, so no nesting is too deep for it. Only Unescape allocates,
// when it appends. All functions are safe for concurrent use.
//
// Extents (Value, Extent) follow from strings and brackets alone: a backslash
// escapes a following quote or backslash, brackets count outside of strings, and a
// closing bracket closes either kind. For valid JSON the extent is right. For
// anything else it is some extent, and the decoder finds the error. String, Number,
// Literal and Valid are exact: they accept what encoding/json accepts.
package scan
