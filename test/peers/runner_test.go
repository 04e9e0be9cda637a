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

// The skip below is one of the outcomes that the runner has to report.
func TestATestThatEndsTheProcessFailsAloneAndTheOthersRun(t *testing.T) {
	r := inModule(t, `
import ("os"; "testing"; "sync")
func TestA(t *testing.T) {}
func TestPanic(t *testing.T) {
	var wg sync.WaitGroup
	wg.Go(func() { panic("in another goroutine") })
	wg.Wait()
}
func TestB(t *testing.T) { t.Run("sub", func(*testing.T) {}) }
func TestExit(t *testing.T) { os.Exit(3) }
func TestC(t *testing.T) { t.Skip("not here") }
func TestFail(t *testing.T) { t.Error("wrong") }
`)
	got, err := r.run(t.Context(), names("TestA", "TestPanic", "TestB", "TestExit", "TestC", "TestFail"))
	if err != nil {
		t.Fatal(err)
	}
	for test, passed := range map[string]bool{"TestA": true, "TestPanic": false, "TestB": true, "TestB/sub": true, "TestExit": false, "TestC": true, "TestFail": false} {
		o, ok := got[named(test)]
		if !ok || o.passed != passed {
			t.Errorf("%s: %v, %v; want passed to be %v", test, o, ok, passed)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d outcomes, want 7: %v", len(got), got)
	}
	if out := strings.Join(got[named("TestPanic")].output, ""); !strings.Contains(out, "in another goroutine") {
		t.Errorf("the panic is not in the output of its test: %q", out)
	}
}

func TestATestThatHangsFailsAloneAndTheOthersRun(t *testing.T) {
	r := inModule(t, `
import "testing"
func TestA(t *testing.T) {}
func TestHang(t *testing.T) { <-make(chan int, len(t.Name())) }
func TestB(t *testing.T) {}
`)
	r.limit = 2 * time.Second
	got, err := r.run(t.Context(), names("TestA", "TestHang", "TestB"))
	if err != nil {
		t.Fatal(err)
	}
	if !got[named("TestA")].passed || !got[named("TestB")].passed || got[named("TestHang")].passed || len(got) != 3 {
		t.Errorf("got %v", got)
	}
	if out := strings.Join(got[named("TestHang")].output, ""); !strings.Contains(out, "p.TestHang") {
		t.Errorf("the goroutine that hangs is not in the output of its test: %q", out)
	}
}

func TestASuiteThatDoesNotCompileSaysWhy(t *testing.T) {
	r := inModule(t, "import \"testing\"\nfunc TestA(t *testing.T) { lost() }\n")
	_, err := r.run(t.Context(), names("TestA"))
	if err == nil || !strings.Contains(err.Error(), "undefined: lost") {
		t.Errorf("got %v", err)
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
	if _, err := r.run(ctx, names("TestHang")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
