// Package sourcetest has a source in memory, for tests: [Static] behaves like one
// resource of an API server, and fails as the test says. It is to package source
// what httptest is to net/http.
//
// static.go has the collection, its writes and its faults; read.go answers List,
// Watch and samples. Nothing here calls a function of yours while it holds a
// lock. For what happens on the wire there is kinglettest/apiserver.
package sourcetest
