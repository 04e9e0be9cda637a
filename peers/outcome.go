package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A testName is a test or a subtest of a package, or a Ginkgo spec.
type testName struct {
	pkg, test string
	spec      bool
}

// top returns the test that the name is a subtest of, or the name itself.
func (n testName) top() testName {
	if !n.spec {
		n.test, _, _ = strings.Cut(n.test, "/")
	}
	return n
}

// An outcome is what became of a test.
type outcome struct {
	passed, skipped bool
	output          []string
	elapsed         time.Duration
}

// An event is one line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

// A record is what has been read of one go test -json.
type record struct {
	outcomes map[testName]outcome
	output   map[testName][]string // under testName{pkg, ""} that of no test
	began    map[testName]bool
	running  running
	build    []string // what the compiler said
	verbose  io.Writer
}

func (r *record) read(in io.Reader) error {
	for d := json.NewDecoder(in); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go test -json: %w", err)
		}
		r.add(e)
	}
}

func (r *record) add(e event) {
	name := testName{pkg: e.Package, test: e.Test}
	switch e.Action {
	case "build-output":
		r.build = append(r.build, e.Output)
	case "run":
		r.began[name] = true
		r.running.start(name)
	case "cont":
		r.running.start(name)
	case "pause":
		r.running.end(name)
	case "output":
		if _, err := io.WriteString(r.verbose, e.Output); err != nil {
			r.verbose = io.Discard // A reader who is gone is no reason to stop.
		}
		r.output[name] = append(r.output[name], e.Output)
	case "pass", "fail", "skip":
		r.running.end(name)
		r.outcomes[name] = outcome{
			passed: e.Action != "fail", skipped: e.Action == "skip",
			elapsed: time.Duration(e.Elapsed * float64(time.Second)),
		}
	}
}

// failedOutsideOfTests returns an outcome named TestMain for each package that
// failed though each of its tests has passed, as one that leaks goroutines.
func (r *record) failedOutsideOfTests() map[testName]outcome {
	failed := map[testName]outcome{}
	for name, o := range r.outcomes {
		if name.test == "" && !o.passed {
			o.output = r.output[name]
			failed[testName{pkg: name.pkg, test: "TestMain"}] = o
		}
	}
	for name := range r.began {
		if !r.outcomes[name].passed {
			delete(failed, testName{pkg: name.pkg, test: "TestMain"})
		}
	}
	return failed
}

// A runner runs tests with go test.
type runner struct {
	modfile string
	flags   []string      // of go test
	args    []string      // of the tests' program
	env     []string      // of both, beyond our own
	limit   time.Duration // for one test
	verbose io.Writer     // gets what the tests write
}

// run runs the tests named, of one or more packages, and returns what
// became of each of them and of their subtests. A test that ends the process
// fails; those that it has kept from running are run without it.
func (r runner) run(ctx context.Context, want []testName) (map[testName]outcome, error) {
	all := map[testName]outcome{}
	for len(want) > 0 {
		rec, err := r.once(ctx, want)
		if err != nil {
			return nil, err
		}
		for name, o := range rec.outcomes {
			if name.test != "" {
				o.output = rec.output[name]
				all[name] = o
			}
		}
		maps.Copy(all, rec.failedOutsideOfTests())
		without := func(n testName) bool { _, ok := all[n]; return ok }
		left := slices.DeleteFunc(slices.Clone(want), without)
		lost := slices.DeleteFunc(slices.Clone(left), func(n testName) bool { return !rec.began[n] })
		if len(lost) == 0 && len(left) == len(want) {
			lost = left // The process has ended before any began.
		}
		if len(want) == 1 && len(lost) == 1 {
			n := lost[0]
			all[n] = outcome{output: slices.Concat(rec.output[n], rec.output[testName{pkg: n.pkg}], []string{"the process ended in this test\n"})}
			return all, nil
		}
		// Each of them alone, to see which has ended the process.
		for _, n := range lost {
			one, err := r.run(ctx, []testName{n})
			if err != nil {
				return nil, err
			}
			maps.Copy(all, one)
		}
		left = slices.DeleteFunc(left, without)
		want = left
	}
	return all, nil
}

// once runs go test once over the tests named.
func (r runner) once(ctx context.Context, want []testName) (*record, error) {
	var pkgs, tests []string
	for _, n := range want {
		pkgs = append(pkgs, n.pkg)
		tests = append(tests, regexp.QuoteMeta(n.test))
	}
	slices.Sort(pkgs)
	slices.Sort(tests)
	args := append([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=1h", "-modfile=" + r.modfile,
		"-run=^(" + strings.Join(slices.Compact(tests), "|") + ")$"}, r.flags...)
	rec := &record{outcomes: map[testName]outcome{}, output: map[testName][]string{}, began: map[testName]bool{}, verbose: r.verbose}
	args = append(args, slices.Compact(pkgs)...)
	if len(r.args) > 0 {
		args = append(append(args, "-args"), r.args...)
	}
	cmd := goCommand(ctx, args...)
	cmd.Env = append(cmd.Env, r.env...)
	err := runGo(ctx, cmd, func(out io.Reader) error {
		defer rec.running.watch(r.limit, func() {
			// The tests' process prints its goroutines and ends; go test waits for it.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT)
		})()
		return rec.read(out)
	})
	if len(rec.build) > 0 {
		return nil, fmt.Errorf("the suite does not compile over kinglet:\n%s", strings.Join(rec.build, ""))
	}
	// A failing test is an exit with 1, which is no error of ours.
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(rec.outcomes) > 0 {
		err = nil
	}
	return rec, err
}
