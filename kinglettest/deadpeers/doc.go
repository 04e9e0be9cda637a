// Package deadpeers has no code but tests: of connections on which nothing arrives
// any more, and nothing says so. A server in memory ([apiserver]) is reached over
// lines that a test can let go dead (line_test.go).
//
// [apiserver]: https://pkg.go.dev/github.com/kinglet-go/kinglet/kinglettest/apiserver
package deadpeers
