// Package wire makes objects of the bytes that an API server sends, and shares
// between them what they have in common.
//
// # What lives here
//
//   - Decoder (here): one Go type, in protobuf and in JSON, typed or
//     unstructured. It is what source uses.
//   - share: what decoders remember: memos, hashes, the table of shared values.
//   - protobuf, json: plans compiled from a type's struct tags.
//   - untyped: JSON into maps. scan: JSON text, without knowing what it means.
//   - structure: sharing for objects that have no bytes to go by.
//
// # The rule
//
// A plan handles what it is certain of. Anything else, an error included, it
// leaves to the official decoder, which is given the whole object afresh. So
// what kinglet decodes is what apimachinery decodes, and what apimachinery
// refuses kinglet refuses in the same words.
//
// # Unsafe
//
// This folder is the only one of the module that imports unsafe. Three things
// need it: fields are written at offsets, without reflection; memos are laid
// out by hand, so that the collector need not look at them; and keys that are
// only looked up alias the bytes that they are read from.
package wire
