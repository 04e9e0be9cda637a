package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also that of the processes in which a handler panics.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == panicking {
		os.Exit(panicAsTold(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}
