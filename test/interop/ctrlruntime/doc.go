// Package ctrlruntime tests module ctrlruntime beside controller-runtime's own cache,
// on a server in memory. The module itself requires the oldest versions that it works
// with, so it cannot require kinglettest.
package ctrlruntime
