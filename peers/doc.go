// Command peers runs tests that others wrote for client-go's tools/cache over
// kinglet's package cache: client-go's own, and those of what is built on it.
//
// Their sources come from the Go module cache, at the versions in go.mod, and
// are copied with one import changed; see tree. What differs on purpose is in
// expected.txt. A test that fails and is not there fails the command, and so does
// one that is there and passes.
package main
