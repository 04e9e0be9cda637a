// Package faults has no code but tests: one for each thing that goes wrong
// between an informer and its API server, named after what is then expected.
//
// Each test makes a server in memory ([apiserver]) fail in exactly one way, checks that it
// did, and looks at the effects: which requests were sent and when, which changes handlers
// received, what the store and the status showed meanwhile, and that in the end the store
// equals the server. It runs with the informers of packages kinglet and cache, and in
// protobuf and JSON where the encoding matters.
//
// Package torture has the same faults at random, many at once. Here they come one by one,
// so a failure names the fault that is not handled.
package faults
