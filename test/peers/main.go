package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kinglet-go/kinglet/kinglettest"
)

type options struct {
	suite   *regexp.Regexp
	run     *regexp.Regexp
	pkg     *regexp.Regexp
	verbose bool
	race    bool
	starts  bool
	timeout time.Duration
	dir     string
	cluster string
	// clientGo has the tests run over client-go's own packages.
	clientGo bool
}

// memory bounds each process of a suite, so that one that grows without end
// takes itself down and not the machine.
const memory = 4 << 30

func main() {
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: memory, Max: memory}); err != nil {
		fmt.Fprintln(os.Stderr, "peers: bound the memory:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opts, err := parseFlags(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2)
	}
	failed, err := run(ctx, opts, os.Stdout)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "peers: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	case failed:
		os.Exit(1)
	}
}

func parseFlags(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "Runs tests that were written for client-go's packages over kinglet's drop-ins.\nUsage, in folder test/peers: go run . [flags]\n\n")
		flags.PrintDefaults()
	}
	expr := func(name, usage string, into **regexp.Regexp) {
		flags.Func(name, usage, func(s string) (err error) {
			*into, err = regexp.Compile(s)
			return err
		})
	}
	expr("suite", "run suites whose name matches this `regexp`; without it, all but those of operators", &opts.suite)
	expr("run", "run tests whose name matches this `regexp`; numbers of tests are not looked at then", &opts.run)
	expr("package", "run packages of operators whose import path matches this `regexp`; numbers of tests are not looked at then", &opts.pkg)
	flags.BoolVar(&opts.verbose, "v", false, "print what go test -v does, and which tests were cut")
	flags.BoolVar(&opts.starts, "starts", false, "start programs of operators where many objects are, with kinglet and without, and measure them; run no tests")
	flags.BoolVar(&opts.race, "race", false, "run under the race detector")
	flags.DurationVar(&opts.timeout, "timeout", 30*time.Minute, "time that the tests of a package may take")
	flags.StringVar(&opts.dir, "dir", "../../bin/peers-sources", "folder for the changed copies of their sources")
	flags.StringVar(&opts.cluster, "cluster", "", "kinglet-cluster `program`; built if there is none")
	flags.BoolVar(&opts.clientGo, "client-go", false, "run over client-go's own packages, to see what a test does there")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q; suites are chosen with -suite", flags.Arg(0))
		fmt.Fprintln(flags.Output(), "peers:", err)
		return opts, err
	}
	return opts, nil
}

// run runs the suites and reports whether anything has failed.
func run(ctx context.Context, opts options, out io.Writer) (failed bool, err error) {
	all := append(slices.Clone(suites), operatorSuites()...)
	expected, err := readExpected()
	if errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("start it in folder test/peers of kinglet's repository: %w", err)
	}
	if err != nil {
		return false, err
	}
	for name := range expected {
		if !slices.ContainsFunc(all, func(s suite) bool { return s.name == name }) {
			return false, fmt.Errorf("expected.txt: there is no suite %q", name)
		}
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(s suite) bool {
		if s.starts && !opts.starts {
			return true
		}
		if opts.suite == nil {
			return (s.operator != nil) != opts.starts
		}
		return !opts.suite.MatchString(s.name)
	})
	if len(chosen) == 0 {
		return false, fmt.Errorf("no suite matches -suite %s", opts.suite)
	}
	if opts.clientGo {
		opts.dir += "-client-go"
	}
	dir, err := filepath.Abs(opts.dir)
	if err != nil {
		return false, err
	}
	if opts.starts {
		return false, runStarts(ctx, dir, chosen, opts, out)
	}
	t := &tree{dir: dir}
	if slices.ContainsFunc(chosen, func(s suite) bool { return s.operator == nil }) {
		var unlock func()
		if t, unlock, err = newTree(ctx, dir, opts.clientGo, suites); err != nil {
			return false, err
		}
		defer unlock()
	}
	var sum verdict
	for _, s := range chosen {
		e := expected[s.name]
		if e == nil || opts.clientGo {
			e = &expectation{}
		}
		v, err := runSuite(ctx, t, s, e, opts, out)
		if err != nil {
			return false, err
		}
		sum.passed += v.passed
		sum.differing += v.differing
		sum.failed = append(sum.failed, v.failed...)
		sum.problems = append(sum.problems, v.problems...)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d differ on purpose\n", sum.passed, len(sum.failed)+len(sum.problems), sum.differing)
	return len(sum.failed)+len(sum.problems) > 0, nil
}

// ready is a suite whose sources are where the go command finds them.
type ready struct {
	suite  suite
	runner runner
	tests  []testName
	specs  map[string]string // by package: the test that runs its specs
	// gone are the tests that were cut, each with the identifier that began it.
	gone map[string]string
}

func runSuite(ctx context.Context, t *tree, s suite, e *expectation, opts options, out io.Writer) (v verdict, err error) {
	var rs *ready
	unlock := func() {}
	switch {
	case s.operator != nil:
		rs, unlock, err = readyOperator(ctx, t.dir, s, opts)
	case s.hooked != "":
		rs, err = readyHooked(ctx, t.dir, s, opts)
	default:
		rs, err = t.ready(ctx, s)
	}
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", s.name, err)
	}
	defer unlock()
	rs.runner.limit, rs.runner.verbose = opts.timeout, io.Discard
	if opts.race {
		rs.runner.flags = append(rs.runner.flags, "-race")
	}
	if opts.verbose {
		rs.runner.verbose = out
	}
	outcomes := map[testName]outcome{}
	for _, pkg := range rs.suite.packages {
		of := slices.DeleteFunc(slices.Clone(rs.tests), func(n testName) bool {
			return n.pkg != pkg || opts.run != nil && n.test != rs.specs[pkg] && !opts.run.MatchString(n.test)
		})
		if len(of) == 0 {
			continue
		}
		some, err := rs.runPackage(ctx, pkg, e, opts, of)
		if err != nil {
			return verdict{}, fmt.Errorf("%s: %s: %w", s.name, pkg, err)
		}
		maps.Copy(outcomes, some)
	}
	v = judge(e, outcomes, len(rs.gone), opts.run == nil && opts.pkg == nil && !opts.clientGo)
	v.print(out, s, e, rs.gone, opts.verbose)
	return v, nil
}

// ready has the tree's copies for a suite whose imports are swapped.
func (t *tree) ready(ctx context.Context, s suite) (rs *ready, err error) {
	rs = &ready{suite: s, runner: runner{modfile: t.modfile, dir: t.dir}}
	if s.outside {
		if rs.gone, err = t.cut(ctx, s); err != nil {
			return nil, err
		}
	}
	if err := t.proveSwapped(ctx, s); err != nil {
		return nil, err
	}
	rs.tests, rs.specs, err = t.testsOf(ctx, s)
	return rs, err
}

// runPackage runs tests of a package, on a control plane if the suite needs one.
func (rs *ready) runPackage(ctx context.Context, pkg string, e *expectation, opts options, tests []testName) (_ map[testName]outcome, err error) {
	r := rs.runner
	if rs.suite.cluster {
		// All that the tests need is compiled first: on two cores, a control plane
		// beside the compiler is slow to start.
		if err := r.compile(ctx, pkg); err != nil {
			return nil, err
		}
		c, stop, startErr := kinglettest.RunCluster(ctx, kinglettest.ClusterOptions{Program: opts.cluster, DisableAdmissionPlugins: offInEnvtest})
		if startErr != nil {
			return nil, startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
		if err := likeEnvtest(ctx, c); err != nil {
			return nil, err
		}
		r.env = append(r.env, "USE_EXISTING_CLUSTER=true", "KUBECONFIG="+c.Kubeconfig)
	}
	focus := rs.suite.focus
	if opts.run != nil {
		focus = opts.run.String()
	}
	specs := rs.specs[pkg]
	outcomes, err := r.runTests(ctx, pkg, specs, focus, tests)
	for tries := 1; err == nil && tries < attempts; tries++ {
		lost := e.lost(outcomes)
		if len(lost) == 0 {
			break
		}
		var again map[testName]outcome
		plain := slices.DeleteFunc(slices.Clone(lost), func(n testName) bool { return n.spec })
		again, err = r.runTests(ctx, pkg, specs, focusOn(lost), plain)
		won(outcomes, again, lost)
	}
	return outcomes, err
}

// compile compiles what the tests need, and runs nothing: a TestMain may need the control
// plane.
func (r runner) compile(ctx context.Context, pkg string) error {
	cmd := goCommand(ctx, append(append([]string{"test", "-c", "-o", os.DevNull, "-vet=off", "-modfile=" + r.modfile}, r.flags...), pkg)...)
	cmd.Dir = r.dir
	return runGo(ctx, cmd, func(out io.Reader) error {
		_, err := io.Copy(io.Discard, out)
		return err
	})
}

// runTests runs tests, and those specs that match focus, if the package has a test that
// runs specs.
func (r runner) runTests(ctx context.Context, pkg, runSpecs, focus string, tests []testName) (map[testName]outcome, error) {
	if runSpecs == "" {
		return r.run(ctx, pkg, tests)
	}
	report := filepath.Join(filepath.Dir(r.modfile), "specs.json")
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	specs := r
	specs.args = []string{"-ginkgo.json-report=" + report}
	if focus != "" {
		specs.args = append(specs.args, "-ginkgo.focus="+focus)
	}
	i := testName{pkg: pkg, test: runSpecs}
	outcomes, err := specs.run(ctx, pkg, []testName{i})
	if err != nil {
		return nil, err
	}
	if err := addSpecs(outcomes, i, report); err != nil {
		return nil, err
	}
	others, err := r.run(ctx, pkg, slices.DeleteFunc(tests, func(n testName) bool { return n == i }))
	maps.Copy(outcomes, others)
	return outcomes, err
}

// shown is how many lines of a failing test's output are printed without -v.
const shown = 40

// print writes a line for the suite, and below it what failed, and what was cut.
func (v verdict) print(out io.Writer, s suite, e *expectation, gone map[string]string, verbose bool) {
	for _, f := range v.failed {
		fmt.Fprintf(out, "FAIL %s: %s %s\n", s.name, f.name.pkg, f.name.test)
		lines := strings.Split(strings.TrimRight(strings.Join(f.output, ""), "\n"), "\n")
		if n := len(lines) - shown; !verbose && n > 0 {
			// The reason may stand at either end.
			lines = slices.Concat(lines[:shown/2], []string{fmt.Sprintf("... %d lines; -v for all of them", n)}, lines[len(lines)-shown/2:])
		}
		for _, l := range lines {
			fmt.Fprintln(out, "    "+l)
		}
	}
	for _, p := range v.problems {
		fmt.Fprintf(out, "FAIL %s: %s\n", s.name, p)
	}
	fmt.Fprintf(out, "%s: %d run, %d passed, %d differ on purpose, %d failed, %d skipped, %d cut\n",
		s.name, v.run, v.passed, v.differing, v.run-v.passed-v.differing, v.skipped, len(gone))
	printCut(out, s, gone, verbose)
}

// printCut says for want of which identifiers tests were cut, and with each also
// which tests.
func printCut(out io.Writer, s suite, gone map[string]string, each bool) {
	if len(gone) == 0 {
		return
	}
	byReason := map[string][]string{}
	for test, why := range gone {
		byReason[why] = append(byReason[why], test)
	}
	reasons := slices.SortedFunc(maps.Keys(byReason), func(a, b string) int {
		if d := len(byReason[b]) - len(byReason[a]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, why := range reasons {
		text := fmt.Sprintf("%s %d", why, len(byReason[why]))
		if each {
			slices.Sort(byReason[why])
			text += " (" + strings.Join(byReason[why], ", ") + ")"
		}
		all = append(all, text)
	}
	fmt.Fprintf(out, "%s: cut for want of %s\n", s.name, strings.Join(all, ", "))
}
