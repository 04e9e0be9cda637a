// Package ctrlruntime has the tests of module ctrlruntime beside controller-runtime's
// own cache, on a server in memory. The module itself requires the oldest versions that
// it works with, and so cannot require kinglettest.
package ctrlruntime
