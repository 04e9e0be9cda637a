package main

import (
	"context"
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

// A runner runs tests with go test.
type runner struct {
	modfile string
	dir     string        // where the go command runs
	flags   []string      // of go test
	args    []string      // of the tests' program
	env     []string      // of both, beyond our own
	limit   time.Duration // for one test
	verbose io.Writer     // gets what the tests write
}

// run runs the tests named and returns what became of each of them and of their
// subtests, one package after the other: when a test is ended by a signal, no
// other package is compiled or tested.
func (r runner) run(ctx context.Context, want []testName) (map[testName]outcome, error) {
	byPackage := map[string][]testName{}
	for _, n := range want {
		byPackage[n.pkg] = append(byPackage[n.pkg], n)
	}
	all := map[testName]outcome{}
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		outcomes, err := r.runPackage(ctx, pkg, byPackage[pkg])
		if err != nil {
			return nil, err
		}
		maps.Copy(all, outcomes)
	}
	return all, nil
}

// runPackage runs tests of one package. A test that ends the process, or runs for
// too long, fails; those that it has kept from running are run without it.
func (r runner) runPackage(ctx context.Context, pkg string, want []testName) (map[testName]outcome, error) {
	all := map[testName]outcome{}
	for len(want) > 0 {
		rec, err := r.once(ctx, pkg, want)
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
		has := func(n testName) bool { _, ok := all[n]; return ok }
		left := slices.DeleteFunc(slices.Clone(want), has)
		lost := slices.DeleteFunc(slices.Clone(left), func(n testName) bool { return !rec.began[n] })
		if len(lost) == 0 && len(left) == len(want) {
			lost = left // The process has ended before any began.
		}
		switch {
		case len(lost) == 1 && (len(want) == 1 || rec.tooLong):
			why := "the process ended in this test\n"
			if rec.tooLong {
				why = fmt.Sprintf("it ran for more than %v (-timeout)\n", r.limit)
			}
			all[lost[0]] = outcome{output: slices.Concat(rec.output[lost[0]], rec.output[testName{pkg: pkg}], []string{why})}
		default:
			// Each of them alone, to see which has ended the process.
			for _, n := range lost {
				one, err := r.runPackage(ctx, pkg, []testName{n})
				if err != nil {
					return nil, err
				}
				maps.Copy(all, one)
			}
		}
		want = slices.DeleteFunc(left, has)
	}
	return all, nil
}

// once runs go test once over tests of one package.
func (r runner) once(ctx context.Context, pkg string, want []testName) (*record, error) {
	var tests []string
	for _, n := range want {
		tests = append(tests, regexp.QuoteMeta(n.test))
	}
	args := []string{
		"test", "-json", "-count=1", "-vet=off", "-timeout=1h", "-modfile=" + r.modfile,
		"-run=^(" + strings.Join(tests, "|") + ")$",
	}
	args = append(append(args, r.flags...), pkg)
	if len(r.args) > 0 {
		args = append(append(args, "-args"), r.args...)
	}
	rec := newRecord(r.verbose)
	cmd := goCommand(ctx, args...)
	cmd.Dir = r.dir
	cmd.Env = append(cmd.Env, r.env...)
	err := runGo(ctx, cmd, func(out io.Reader) error {
		defer rec.running.watch(r.limit, func() {
			rec.tooLong = true
			// The tests' process prints its goroutines and ends; go test waits for it.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT)
		})()
		return rec.read(out)
	})
	if len(rec.build) > 0 {
		return nil, fmt.Errorf("%s does not compile:\n%s", pkg, strings.Join(rec.build, ""))
	}
	// A failing test is an exit with 1, which is no error of ours.
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(rec.outcomes) > 0 {
		err = nil
	}
	return rec, err
}
