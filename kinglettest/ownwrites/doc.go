// Package ownwrites has no code but tests, of an informer that receives the program's own
// writes while its watch of a server in memory ([apiserver]) is stalled.
//
// rig_test.go has the server and the informer. ownwrites_test.go passes writes to the
// informer directly; in client_test.go kinglet.OwnWrites does, for those of clients.
// Package torture does the same at random.
//
// [apiserver]: https://pkg.go.dev/github.com/kinglet-go/kinglet/kinglettest/apiserver
package ownwrites
