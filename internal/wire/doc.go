// Package wire decodes the objects that an API server sends, and shares equal parts
// between them.
//
// # What lives here
//
//   - Decoder (here): decodes one Go type, typed or unstructured, from each format
//     that it can be read from. Structure (here): shares objects of one Go type
//     that a program made. Only source uses them.
//   - share: the engine that the decoders have in common. It decides where a unit's
//     value comes from, and has the decoders' memory: memos, hashes, the table of
//     shared values, the filter that decides whether a lookup is worth it.
//   - gotype: the graph of Go types, compiled once, that all plans are made from; which
//     fields to drop, which types may hide state, and comparison.
//   - memory: how Go lays out values, and copies of them.
//   - clone: deep copies of objects by plans compiled from their types.
//   - official: apimachinery's own decoders, with panics turned into errors.
//   - protobuf, json: readers by plans compiled from a type's struct tags.
//   - untyped: JSON into maps. scan: finds the values in JSON text, for json and
//     untyped, without interpreting them.
//   - formats: names of the encodings.
//   - structure: sharing for objects that have no encoding.
//
// A new format is a plan, an entry in formats.Format, and its decoder in Compile.
//
// # The rule
//
// A plan decodes only what it is certain of. It leaves anything else, errors
// included, to the official decoder, which gets the whole object afresh. So
// kinglet's results are apimachinery's, and so are its errors, in the same words.
//
// A caller may hold any object: one made by hand, one from another encoding, one
// with the memo of another object. A plan uses a previous version only if it made that
// very object itself, which share.Version decides.
//
// # Who may call what
//
// A Decoder is safe for concurrent use, with a share.Session for each goroutine; a
// Structure belongs to one goroutine. Plans are compiled once for each type and kept
// for the life of the process, as encoding/json keeps its own.
//
// A returned object may share memory with the previous version and, through the
// session's table, with any other object, and must not be written to. Without a
// table it shares nothing. Only the keys that Key returns alias the bytes that were
// given.
//
// # Unsafe
//
// Only this folder of the module imports unsafe. Three things need it here: decoders and
// copies write fields at offsets, without reflection; memos are laid out by hand, so
// that the garbage collector need not scan them; and keys for lookups alias the
// bytes that they are read from.
package wire
