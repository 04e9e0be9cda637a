// Package json decodes Kubernetes objects from JSON into Go structs. It takes
// values that it has seen before from the object's previous version, or from a table
// of shared values (package share). Its results are those of apimachinery's
// decoder (k8s.io/apimachinery/pkg/util/json): names are case-sensitive, unknown
// fields are ignored, null leaves the zero value.
//
// # Plans
//
// Compile makes a Plan of a Go type, once: a tree of nodes, one a type, with
// the offset of each field and a hash table of the names. Decoding follows it
// with neither reflection nor interfaces; a type with an UnmarshalJSON of its
// own is decoded by that, for its value alone. Time, MicroTime, Quantity,
// IntOrString, RawExtension and FieldsV1 are known here.
//
// # The fast path
//
// The fast path gives up at anything unusual: a name with an escape, a field
// that occurs twice, a number out of range, nesting beyond 100. Then apimachinery's
// decoder decodes the whole object, and its result or its error is returned. So
// the fast path has no errors of its own, and its results must be right; the
// tests compare the two decoders over every kind of client-go's scheme.
//
// # Units
//
// A unit is one value of 32 bytes or more, or one that is large when decoded:
// a struct, a pointer, a slice or a map. Package share says what a Record of
// it is. A closed record's size is tried first: brackets and quotes delimit
// themselves, so if that many bytes have the hash, the same value ends there, and
// nothing is scanned. Otherwise the value's extent is found, hashed and looked up
// in the table. A value that is not there is decoded, next to the previous version's
// value, from which it takes equal parts.
//
// A comparison of memory decides whether a decoded value is the previous version's:
// all equal parts have been taken from that, pointers included, so equal values
// are equal bytes. Bytes that differ may still be equal values, which costs
// only memory.
//
// # Hidden state
//
// Readers of an object may write to state that a type hides: a mutex, a field that
// a method sets, the state of a protobuf message. Package gotype determines whether
// a type proves its values free of such state. A value that is not, whether it
// decodes itself or has fields that no decoder sets, is decoded anew for each
// version. It and the values that contain it are in no other object, and are
// neither compared with the previous version nor copied from it.
//
// # The text that a Quantity caches
//
// resource.Quantity caches its string when String is called, which writes. One
// that came in canonical form has the string from the beginning and is never
// written. One that did not ("512Mi" is one: a number that 8 divides) is not
// shared, nor is the pointer, slice or struct that contains it: these are decoded
// anew for each version, which is then never the Same; their neighbours are shared
// as usual. This concerns quantities that have an address, the size limit of a
// volume for example; those in a map, as resources are, have none.
//
// Plans are immutable and safe for concurrent use.
package json
