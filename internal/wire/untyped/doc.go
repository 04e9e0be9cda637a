// Package untyped decodes JSON objects of no Go type, as unstructured.Unstructured
// holds them: map[string]any, []any, string, int64, float64, bool, nil.
//
// The result equals, by reflect.DeepEqual, that of apimachinery's
// util/json.Unmarshal for the same bytes, and is an error if that returns one. That
// function decodes, afresh, every object that is unusual: with a syntax error, a
// name that occurs twice, or nesting beyond 100.
//
// # What is shared
//
// A unit is a whole object or array. It is taken from the previous version if its bytes
// are that version's, or from the table if that knows the bytes. Otherwise it is
// decoded: the units inside are handled in the same way, and strings, names and
// boxed values are taken from the previous version, or interned. A Plan has one empty
// object and one empty array. So everything reachable from a result may belong to
// other objects too, and must never be written to. The exception is the outermost
// map: it is fresh, unless the result says Same, since the kind and apiVersion of
// an item of a list are set later.
//
// # What is remembered
//
// A record's number is 16 bits of a keyed hash of the member's name. That hash, and
// those of the names around it, go into the record: into a closed one's hash by
// exclusive or, which is still 96 bits, and into an open one's mask. So a record is
// never taken for that of another member. The two hashes cannot cancel each other
// out by being of the same text: a name begins with a quote, a unit with a bracket.
//
// A Plan is safe for concurrent use.
package untyped
