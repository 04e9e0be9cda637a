// Package wire makes objects of the bytes that an API server sends, and shares
// between them what they have in common.
//
// # What lives here
//
//   - Decoder (here): one Go type, in each format that it can be read from,
//     typed or unstructured. Structure (here): one Go type, made by somebody's
//     code. Only source uses them,
//     through its internal/fastpath.
//   - share: the engine that the decoders have in common. It decides where a
//     unit's value comes from, and has what decoders remember: memos, hashes, the
//     table of shared values, the filter that tells whether a lookup is worth it.
//   - memory: how Go lays out values, and copies of them.
//   - clone: deep copies of objects by plans compiled from their types.
//   - state: which types may hide state, and so are neither shared nor compared.
//   - fields: the fields of Go types by their JSON names, and which to drop.
//   - official: apimachinery's own decoders, their panics made errors.
//   - protobuf, json: readers by plans compiled from a type's struct tags.
//   - untyped: JSON into maps. scan: JSON text, which json and untyped are cut
//     with, without knowing what it means.
//   - formats: names of the encodings. cbor: the syntax of CBOR, which is decoded
//     by apimachinery and shared by structure (cbor.go).
//   - structure: sharing for objects that have no bytes to go by.
//
// A new format is a plan, an entry in formats.Format, and its decoder in Compile.
//
// # The rule
//
// A plan handles what it is certain of. Anything else, an error included, it
// leaves to the official decoder, which is given the whole object afresh. So
// what kinglet decodes is what apimachinery decodes, and what apimachinery
// refuses kinglet refuses in the same words.
//
// What a caller holds may be anything: an object made by hand, from another
// encoding, with the memo of another. A plan looks at a last version only if it
// made that very object itself, which share.Version decides.
//
// # Who may call what
//
// A Decoder is safe for concurrent use, with a share.Session for each goroutine;
// a Structure belongs to one goroutine. Plans are compiled once a type and kept
// for the life of the process, as encoding/json keeps its own.
//
// A returned object may share memory with the last version and, through the
// session's table, with any other object, and must not be written to. Without a
// table it shares nothing. Nothing returned aliases the bytes that were given,
// except the keys of ProtobufKey and JSONKey.
//
// # Unsafe
//
// Of the module's folders only this one imports unsafe, and a build with the tag
// kinglet_safe does not link it. fields, formats, official, scan and cbor are part
// of that build, and must not import it.
// Three things need it here: fields are written at offsets, without reflection, by
// decoders and by copies;
// memos are laid out by hand, so that the collector need not look at them; and
// keys that are only looked up alias the bytes that they are read from.
package wire
