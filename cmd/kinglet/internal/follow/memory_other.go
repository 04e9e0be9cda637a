//go:build !linux

package follow

// residentSet is not known without cgo on other systems: what getrusage has
// there is the peak.
func residentSet() uint64 { return 0 }
