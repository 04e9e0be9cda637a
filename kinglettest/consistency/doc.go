// Package consistency has no code but tests: of the check that compares an
// informer's store with the API server, against a server in memory ([apiserver]).
//
// rig_test.go has the server, the informer and the ways to damage its store;
// sweep_test.go the checks of many pages and the random trials.
//
// [apiserver]: https://pkg.go.dev/github.com/kinglet-go/kinglet/kinglettest/apiserver
package consistency
