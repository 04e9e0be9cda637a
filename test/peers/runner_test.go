package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inModule makes the test run in a module of its own, with one package.
func inModule(t *testing.T, text string) runner {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26.0\n", "p_test.go": "package p\n" + text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return runner{modfile: filepath.Join(dir, "go.mod"), dir: dir, limit: time.Minute, verbose: io.Discard}
}

func names(tests ...string) []testName {
	var all []testName
	for _, t := range tests {
		all = append(all, named(t))
	}
	return all
}

func TestWhereTheProcessEndsTheTestsThatHaveNotEndedFail(t *testing.T) {
	for what, end := range map[string]string{
		"a panic": `panic("in another goroutine")`, "an exit": "os.Exit(3)", "a test that hangs": "<-make(chan int, len(t.Name()))",
	} {
		r := inModule(t, `
import ("os"; "testing"; "sync")
func TestA(t *testing.T) { t.Run("sub", func(*testing.T) {}) }
func TestFail(t *testing.T) { t.Error("wrong") }
func TestSkip(t *testing.T) { t.Skip("not here") }
func TestEnd(t *testing.T) {
	var wg sync.WaitGroup
	wg.Go(func() { `+end+` })
	wg.Wait()
}
func TestZ(t *testing.T) {}
var _ = os.Exit
`)
		r.limit = 2 * time.Second
		got, err := r.run(t.Context(), "p", names("TestA", "TestFail", "TestSkip", "TestEnd", "TestZ"))
		if err != nil {
			t.Fatal(err)
		}
		for test, passed := range map[string]bool{"TestA": true, "TestA/sub": true, "TestFail": false, "TestSkip": true, "TestEnd": false, "TestZ": false} {
			if o, ok := got[named(test)]; !ok || o.passed != passed {
				t.Errorf("%s: %s: %v, %v; want passed to be %v", what, test, o, ok, passed)
			}
		}
		if len(got) != 6 {
			t.Errorf("%s: %d outcomes, want 6: %v", what, len(got), got)
		}
		if out := strings.Join(got[named("TestEnd")].output, ""); what != "an exit" && !strings.Contains(out, "p_test.go:") {
			t.Errorf("%s: the stack is not in the output of its test: %q", what, out)
		}
	}
}

// onWrite is a writer that calls a function.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestAnInterruptEndsTheTests(t *testing.T) {
	r := inModule(t, `
import ("fmt"; "testing")
func TestHang(t *testing.T) { fmt.Println("begun"); <-make(chan int, len(t.Name())) }
`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.verbose = onWrite(cancel)
	if _, err := r.run(ctx, "p", names("TestHang")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
