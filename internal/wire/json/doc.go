// Package json decodes Kubernetes objects from JSON into Go structs, and takes
// from the object's last version, or from a table of shared values, what it
// has seen before (package share). What it returns is what apimachinery's
// decoder (k8s.io/apimachinery/pkg/util/json) would: names are case-sensitive,
// unknown fields are ignored, null leaves the zero value.
//
// # Plans
//
// Compile makes a Plan of a Go type, once: a tree of nodes, one a type, with
// the offset of each field and a hash table of the names. Decoding follows it
// with neither reflection nor interfaces; a type with an UnmarshalJSON of its
// own is decoded by that, for its value alone. Time, MicroTime, Quantity,
// IntOrString, RawExtension and FieldsV1 are known here.
//
// # Two roads
//
// The fast road gives up at anything unusual: a name with an escape, a field
// that stands twice, a number out of range, nesting beyond 100. Then the whole
// object is decoded by apimachinery's decoder, and its result or its error is
// the answer. So the fast road has no errors of its own, and where it succeeds
// it must be right; the tests compare the two over every kind of client-go's
// scheme.
//
// # Units
//
// A unit is one value of 32 bytes or more, or one that is large when decoded:
// a struct, a pointer, a slice or a map. Package share says what a Record of
// it is. A closed record's size is tried first: brackets and quotes delimit
// themselves, so where that many bytes have the hash, the same value ends
// there, and nothing is scanned. Otherwise the value's extent is found, hashed
// and looked up in the table; only what is not there is decoded, with the last
// version's value beside it, so that equal parts of it are taken over.
//
// Whether a value turned out the same is told by comparing memory: all that
// was equal has been taken from the last version, pointers included, so equal
// values are equal bytes. Bytes that differ may still be equal values, which
// costs memory and nothing else.
//
// # Hidden state
//
// What a type hides may be written to by whoever reads the object: a mutex, a
// field that a method sets, the state of a protobuf message. Package state tells
// from the type whether a value is proven free of it. One that is not, whether
// it decodes itself or has fields that no decoder sets, is decoded anew for each
// version. It and what it is a part of are in no other object, and are neither
// compared with the last version nor copied from it.
//
// # What a Quantity remembers
//
// resource.Quantity caches its string when String is called, which writes. One
// that came in canonical form has the string from the beginning and is never
// written. One that did not ("512Mi" is one: a number that 8 divides) is not
// shared, nor is what it is a part of: pointer, slice or struct are decoded
// anew for each version, which is then never the Same; what stands beside it
// is shared as ever. This concerns quantities that have an address, the size
// limit of a volume for example; those in a map, as resources are, have none.
//
// Plans are immutable and safe for concurrent use.
package json
