// Package deadpeers has no code but tests, of connections that have silently died. A server
// in memory ([apiserver]) is reached over lines that a test can make dead (line_test.go).
//
// [apiserver]: https://pkg.go.dev/github.com/kinglet-go/kinglet/kinglettest/apiserver
package deadpeers
