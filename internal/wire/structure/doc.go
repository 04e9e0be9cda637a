// Package structure shares the parts of objects that have no encoding, because a
// transform returned them. The decoders of the neighbouring packages recognise an
// encoding before they decode it. Here the value exists already, and is exchanged,
// slice by slice, map by map, for an equal one that other objects have. The
// transform's own can then be garbage collected.
//
// # How
//
// A [Plan] is compiled once for a Go type: for each struct where its strings,
// pointers, slices and maps are, and how its values are written down. A
// [Sharer] takes one object after the other:
//
//   - A part that equals the previous version's in the same place is replaced by
//     that. Nothing is hashed for it.
//   - Other parts are encoded canonically in a scratch buffer: with lengths, with
//     nil and empty distinguished, and with maps in the order of their keys. Equal
//     bytes of one type mean values that are equal by reflect.DeepEqual. The
//     keyed hash of the encoding is looked up in share.Table; see package share
//     for why a hash is enough. The encoding of a part contains those of the parts
//     inside it, so all of it is built once.
//   - Only a part that the table does not have is searched for parts to exchange,
//     and then offered to the table.
//
// # Whose memory is whose
//
// The sharer writes only to memory that it has allocated itself. Before a part is
// exchanged, all that contains it is copied, up to the object. So a transform may
// return the same slice in many objects, or an object that it keeps; it must not
// write to any of it afterwards.
//
// # What is not shared
//
// Values that cannot be compared: functions, channels, interfaces other than those
// of unstructured objects, arrays of anything but numbers, maps with keys other
// than strings, NaN. A part that contains such a value is not shared either, but
// its neighbours are, and nil is shared like anything else.
//
// Structs with fields that are not exported (time.Time and resource.Quantity are
// known) may have hidden state, such as a mutex, and are never shared, zero or
// not. Nor are they copied: a struct that contains such a struct stays the
// transform's own with all that it leads to.
//
// A Quantity that a pointer can reach caches its text in String, which would be a
// write to memory that others read. It is shared only if it has the text already.
package structure
