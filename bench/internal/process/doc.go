// Package process asks the system what this process takes: resident memory,
// its peak, processor time.
package process
