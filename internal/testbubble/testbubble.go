// Package testbubble counts the goroutines of a bubble of testing/synctest. Only tests
// import it.
package testbubble

import (
	"bytes"
	"regexp"
	"runtime"
)

// Goroutines returns how many goroutines the caller's bubble has, the caller included. It
// panics outside a bubble. [runtime.NumGoroutine] counts those of the whole process, among
// them what other tests have left to end.
func Goroutines() int {
	stacks := make([]byte, 1<<16)
	n := runtime.Stack(stacks, true)
	for n == len(stacks) {
		stacks = make([]byte, 2*len(stacks))
		n = runtime.Stack(stacks, true)
	}
	all := header.FindAllSubmatch(stacks[:n], -1)
	own := all[0][1] // that of the caller is the first
	if len(own) == 0 {
		panic("testbubble: not in a bubble")
	}
	count := 0
	for _, h := range all {
		if bytes.Equal(h[1], own) {
			count++
		}
	}
	return count
}

// header is a goroutine's line in a traceback, with the number of its bubble.
var header = regexp.MustCompile(`(?m)^goroutine \d+ \[.*?(?:synctest bubble (\d+).*)?\]:$`)
