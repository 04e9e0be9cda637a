package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A runner runs tests with go test.
type runner struct {
	modfile string
	dir     string        // where the go command runs
	flags   []string      // of go test
	args    []string      // of the tests' program
	env     []string      // of both, beyond our own
	limit   time.Duration // for the tests of a package
	verbose io.Writer     // gets what the tests write
}

// run runs tests of one package, and returns what became of each of them and of their
// subtests. Where the process ends in the midst of them, those that have not ended fail.
func (r runner) run(ctx context.Context, pkg string, want []testName) (map[testName]outcome, error) {
	all := map[testName]outcome{}
	if len(want) == 0 {
		return all, nil
	}
	rec, err := r.record(ctx, pkg, want)
	if err != nil {
		return nil, err
	}
	for name, o := range rec.outcomes {
		if name.test != "" {
			o.output = rec.output[name]
			all[name] = o
		}
	}
	lost := slices.DeleteFunc(slices.Clone(want), func(n testName) bool { _, ended := all[n]; return ended })
	for _, n := range lost {
		why := "the process had ended before this test\n"
		if rec.began[n] {
			why = "the process ended in this test\n"
		}
		all[n] = outcome{output: slices.Concat(rec.output[n], rec.output[testName{pkg: pkg}], []string{why})}
	}
	if failed := rec.failedOutsideOfTests(pkg); failed != nil && len(lost) == 0 {
		all[testName{pkg: pkg, test: "TestMain"}] = *failed
	}
	return all, nil
}

// record runs go test.
func (r runner) record(ctx context.Context, pkg string, want []testName) (*record, error) {
	var tests []string
	for _, n := range want {
		tests = append(tests, regexp.QuoteMeta(n.test))
	}
	args := []string{
		"test", "-json", "-count=1", "-vet=off", "-timeout=" + r.limit.String(), "-modfile=" + r.modfile,
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
	err := runGo(ctx, cmd, rec.read)
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
