package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
	build    []string // what the compiler said
	verbose  io.Writer
}

func newRecord(verbose io.Writer) *record {
	return &record{outcomes: map[testName]outcome{}, output: map[testName][]string{}, began: map[testName]bool{}, verbose: verbose}
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
	case "output":
		if _, err := io.WriteString(r.verbose, e.Output); err != nil {
			r.verbose = io.Discard // A reader who is gone is no reason to stop.
		}
		r.output[name] = append(r.output[name], e.Output)
	case "pass", "fail", "skip":
		r.outcomes[name] = outcome{
			passed: e.Action != "fail", skipped: e.Action == "skip",
			elapsed: time.Duration(e.Elapsed * float64(time.Second)),
		}
	}
}

// failedOutsideOfTests returns the outcome of a package that failed though each of its
// tests has passed, as one that leaks goroutines, and nil for others.
func (r *record) failedOutsideOfTests(pkg string) *outcome {
	name := testName{pkg: pkg}
	o, ended := r.outcomes[name]
	if !ended || o.passed {
		return nil
	}
	for n := range r.began {
		if n.pkg == pkg && !r.outcomes[n].passed {
			return nil
		}
	}
	o.output = r.output[name]
	return &o
}
