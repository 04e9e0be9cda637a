// Package structure shares the parts of objects that have no bytes to go by:
// what a transform returned. The decoders of the packages beside it recognise
// an encoding before they decode it; here the value exists already, and is
// exchanged, slice by slice, map by map, for an equal one that others have, so
// that what the transform made can be collected.
//
// # How
//
// A [Plan] is compiled once for a Go type: for each struct where its strings,
// pointers, slices and maps are, and how its values are written down. A
// [Sharer] takes one object after the other:
//
//   - A part that equals what the object's last version has in the same place
//     is that from now on. Nothing is hashed for it.
//   - Of other parts the canonical encoding is built in a scratch buffer: with
//     lengths, nil told from empty, maps in the order of their keys, so that
//     equal bytes of one type mean values that are equal by reflect.DeepEqual.
//     Its keyed hash is what share.Table is asked for; see package share for
//     why a hash is enough. The encoding of what is inside a part is a piece of
//     the part's own, so all of it is built once.
//   - Only what the table does not have is looked into, and then offered to it.
//
// # Whose memory is whose
//
// The sharer writes only to memory that it has allocated itself. What contains
// a part that is to be exchanged is copied first, up to the object. So a
// transform may return the same slice in many objects, or an object that it
// keeps; it must not write to any of it afterwards.
//
// # What is not shared
//
// Whatever cannot be told to be equal: functions, channels, interfaces other
// than those of unstructured objects, arrays of anything but numbers, maps by
// anything but strings, NaN. What contains such a value is not shared either,
// but what stands beside it is, and nil is shared like anything else.
//
// Structs with fields that are not exported (time.Time and resource.Quantity are
// known) may have hidden state, such as a mutex, and are never shared, zero or
// not. Nor are they copied: a struct that such a struct is part of stays the
// transform's own with all that it leads to.
//
// A Quantity that can be
// reached by a pointer caches its text when it is asked for it, which would be
// a write to what others read: it is shared only if it has the text already.
package structure
