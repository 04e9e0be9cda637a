// Package encoding reads the encodings of API servers: JSON and protobuf. It
// finds lists, events and objects in a response, and reads their kinds and
// identities from the bytes. It does not decode objects of T: the codec of package
// source does, through internal/wire.
//
// # What lives here
//
//   - Encoding: one of the two. All is the registry, Of recognises a response by
//     its first byte, OfMediaType by its Content-Type.
//   - Window: the part of a response that was read and not yet consumed. It
//     grows with what arrives, never with what a length announces.
//   - List: what an Encoding reports of a list while it reads it.
//   - json: an object has its kind in its own members, which may come in any order.
//   - protobuf: the kind is next to the object, in an envelope.
//
// # A new encoding
//
// It needs an implementation of Encoding, an entry in All, and in internal/wire a
// plan for its formats.Format.
//
// Nothing here starts a goroutine or keeps state between responses. Encodings
// are safe for concurrent use; a Window, a Frames and a List belong to one
// goroutine.
package encoding
