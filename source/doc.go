// Package source is where objects come from. A Source is one collection of
// one kind, with its namespace and selectors fixed, that can be listed page by
// page and watched batch by batch.
//
// # What lives here
//
//   - Source, Page, Event, Item: what a reflector asks and what it is told.
//   - FromConfig and FromREST read an API server's bytes themselves.
//   - FromListerWatcher takes whatever has client-go's List and Watch:
//     cache.ListWatch, the closures of generated informers, dynamic and
//     metadata clients, fakes.
//   - NewStatic is a small honest server in memory, for tests.
//   - Map turns objects into others; WithKeyFunc gives them other keys.
//
// # The seam where bytes become objects
//
// There is one: Decoder. Everything to its left is HTTP (rest.go: which
// request, which headers, whose context), everything to its right is objects.
// A Decoder is handed the response body, the Held of the request and the
// caller's yield; it reads as it likes, and yields what it has as soon as it
// has it. The decoder here finds the extent of each object in the stream
// (protobuf.go, json.go, over the window of window.go) and hands those bytes
// to apimachinery's own decoders (kind.go). It does not consult Held yet. A
// decoder that keeps what did not change replaces it in newDecoder and
// nowhere else.
//
// One request's answer is decoded in a single pass on the caller's goroutine.
// Nothing holds a whole response body: at most one object and what was read
// ahead of it. An idle watch keeps a buffer of 2 KiB and no goroutine.
//
// # Who may call what
//
// List and Watch run on the caller's goroutine and call yield from it; a
// Source serves one caller at a time, except Static, which serves any number.
// The only goroutine started here is FromListerWatcher's, around a List or
// Watch call that has yet to return, since not every one of them honours a
// context. Only Static has a lock, and calls nobody while holding it.
//
// # What happens to what is broken
//
// An object that cannot be decoded, is of another type or has no name becomes
// an Item whose Err is an *ItemError with its identity, as far as that can be
// read; the stream goes on. A stream whose framing is broken (*MalformedError,
// *TooLargeError, io.ErrUnexpectedEOF) ends with that error: going on from the
// last version loses nothing, guessing where the next object begins might.
package source
