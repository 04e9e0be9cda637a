//go:build !linux

package main

import "time"

var begun = time.Now()

// threadTime is the clock's time where that of a thread is not to be had.
func threadTime() time.Duration { return time.Since(begun) }
