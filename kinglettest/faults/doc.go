// Package faults has no code but tests: one for each thing that goes wrong
// between an informer and its API server, named after what is then expected.
//
// Each test has a server in memory ([apiserver]) do exactly one thing wrong,
// makes sure that it did, and looks at what came of it: which requests were
// sent and when, what handlers were told, what the store and the status showed
// meanwhile, and that in the end the store equals the server. It runs over
// package kinglet's informer and over package cache's, in protobuf and in JSON
// where the encoding matters. It also runs over client-go's, for information:
// what that does otherwise is logged (go test -v), and fails nothing.
//
// Package torture has the same faults at random and many at once; here they
// come one by one, so that a failure says which of them is not borne.
package faults
