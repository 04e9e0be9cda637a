package conformance

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Options are the options of [Run]. The zero value expects what is right.
type Options struct {
	// Expect is the side of the differences.
	Expect Behaviour
	// Rows are the IDs of the rows to run, for an implementation that is not complete.
	// The differences are left out then. If it is empty, everything runs.
	Rows []string
}

// Behaviour is the side of the [Differences] that is expected.
type Behaviour int

const (
	// RightBehaviour expects what should be, which is what kinglet does.
	RightBehaviour Behaviour = iota
	// ClientGoBehaviour expects what client-go v0.37.2 does.
	ClientGoBehaviour
)

// Row is a group of tests about some names of the API, which are fields of
// [Implementation]; a name that ends with a star stands for every field with that prefix.
type Row struct {
	ID    string
	Needs []string
	Tests []Test
}

// Test is one sentence of the contract. A Real test runs in real time, the others in a
// bubble.
type Test struct {
	Sentence string
	Run      func(*testing.T, Implementation)
	Real     bool
}

type (
	row  = Row
	test = Test
)

// Difference is a scenario in which client-go is wrong or weak, and in which an
// implementation should differ from it.
type Difference struct {
	// ID names the difference, and its subtest.
	ID string
	// Situation, Reference and Right are for people: what happens, the result with
	// client-go, and the correct result. Source is where the weakness is reported or
	// described.
	Situation, Reference, Right, Source string
	// Outcome runs the scenario and describes its result: WeakOutcome or RightOutcome.
	Outcome                   func(*testing.T, Implementation) string
	WeakOutcome, RightOutcome string
	Real                      bool
}

// Run runs the suite: a subtest for each row of the contract, one for the
// differences, and in each of them one for each sentence. It replaces the
// process-wide error handlers while it runs, so it must not run in parallel
// with other tests that report errors there.
func Run(t *testing.T, im Implementation, opts Options) {
	restore := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{reports.take}
	t.Cleanup(func() { utilruntime.ErrorHandlers = restore })
	for _, r := range Rows() {
		if len(opts.Rows) > 0 && !slices.Contains(opts.Rows, r.ID) {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			if missing := missing(im, r.Needs); len(missing) > 0 {
				t.Fatalf("%s lacks what row %q is about: %s", im.Name, r.ID, strings.Join(missing, ", "))
			}
			for _, test := range r.Tests {
				t.Run(test.Sentence, func(t *testing.T) { start(t, test.Real, func(t *testing.T) { test.Run(t, im) }) })
			}
		})
	}
	if len(opts.Rows) > 0 {
		return
	}
	t.Run("differences", func(t *testing.T) {
		for _, d := range Differences() {
			t.Run(d.ID, func(t *testing.T) {
				want := d.RightOutcome
				if opts.Expect == ClientGoBehaviour {
					want = d.WeakOutcome
				}
				start(t, d.Real, func(t *testing.T) {
					if got := d.Outcome(t, im); got != want {
						t.Errorf("%s: %s\n got: %s\nwant: %s", im.Name, d.Situation, got, want)
					}
				})
			})
		}
	})
}

// start runs a test in real time or in a bubble.
func start(t *testing.T, real bool, run func(*testing.T)) {
	if real {
		run(t)
		return
	}
	synctest.Test(t, run)
}

// missing returns the names of the wanted functions that are nil. Fields with the tag
// conformance:"optional" are never missing.
func missing(im Implementation, wanted []string) []string {
	var names []string
	v := reflect.ValueOf(im)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if v.Field(i).Kind() != reflect.Func || !v.Field(i).IsNil() || field.Tag.Get("conformance") == "optional" {
			continue
		}
		if slices.ContainsFunc(wanted, func(w string) bool {
			prefix, all := strings.CutSuffix(w, "*")
			return field.Name == w || all && strings.HasPrefix(field.Name, prefix)
		}) {
			names = append(names, field.Name)
		}
	}
	return names
}

// Rows lists the rows in the order in which Run runs them.
func Rows() []Row {
	return []Row{
		storeRow(),
		listWatchRow(),
		reflectorRow(),
		controllerRow(),
		panicsRow(),
		sharedInformerRow(),
		errorsRow(),
		waitsRow(),
	}
}

// Differences lists the differences in the order in which Run tests them.
func Differences() []Difference {
	return slices.Concat(informerDifferences(), storeDifferences(), queueDifferences())
}

// DifferencesDoc renders the differences as a list in a doc comment, with lines of at most
// 80 columns that begin with "//".
func DifferencesDoc() string {
	var b strings.Builder
	for _, d := range Differences() {
		text := "When " + d.Situation + ": " + d.Reference + ". Here: " + d.Right + "."
		if d.Source != "" {
			text += " (" + d.Source + ")"
		}
		line := "//   -"
		for _, word := range strings.Fields(text) {
			if len(line)+1+len(word) > 80 {
				b.WriteString(line + "\n")
				line = "//    "
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// reports collects what is reported to the process-wide error handlers.
var reports reporter

type reporter struct {
	mu   sync.Mutex
	list []string // guarded by mu
}

func (r *reporter) take(_ context.Context, err error, msg string, keysAndValues ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, fmt.Sprint(msg, ": ", err, " ", keysAndValues))
}

// drain returns what was reported since the last call.
func (r *reporter) drain() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}
