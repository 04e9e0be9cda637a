// Package ownwrites has no code but tests: of an informer that is told what the
// program wrote, while its watch of a server in memory ([apiserver]) stands still.
//
// rig_test.go has the server and the informer; ownwrites_test.go tells the informer
// by hand, client_test.go has kinglet.OwnWrites tell it what clients write.
// Package torture has the same at random.
//
// [apiserver]: https://pkg.go.dev/github.com/kinglet-go/kinglet/kinglettest/apiserver
package ownwrites
