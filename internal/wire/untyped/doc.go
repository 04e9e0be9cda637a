// Package untyped decodes JSON objects of no Go type, as unstructured.Unstructured
// holds them: map[string]any, []any, string, int64, float64, bool, nil.
//
// The result is what apimachinery's util/json.Unmarshal makes of the same
// bytes, by reflect.DeepEqual, and an error where that has one: whatever is not
// plain sailing (any fault, a name that comes twice, nesting beyond 100) is
// decoded afresh by it, and its answer is the answer.
//
// # What is shared
//
// A unit is an object or an array, whole. It is the last version's if its
// bytes are, the table's if those are known, and decoded if not; then what is
// inside it is looked at in the same way, and strings, names and boxed values
// are still those of the last version, or interned. Empty ones are one of each
// in a Plan. So all that is reachable from a result may belong to other
// objects too, and is never to be written to. The exception is the outermost
// map: it is fresh, unless the result says Same, since whoever takes an item
// out of a list sets its kind and apiVersion.
//
// # What is remembered
//
// A record's number is 16 bits of a keyed hash of the member's name. That hash,
// and those of the names around it, go into the record: into a closed one's hash by exclusive
// or, which is 96 bits still, and into an open one's mask. So a record is never
// taken for that of another member. The two hashes cannot cancel each other
// out by being of the same text: that of a name begins with a quote, that of a
// unit with a bracket.
//
// A Plan is safe for concurrent use.
package untyped
