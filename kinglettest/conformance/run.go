package conformance

import (
	"context"
	"fmt"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinglet-go/kinglet/kinglettest/conformance/internal/suite"
)

// Behaviour says which side of the [Differences] is expected.
type Behaviour int

const (
	// RightBehaviour expects what should be, which is what kinglet does.
	RightBehaviour = Behaviour(suite.RightBehaviour)
	// ClientGoBehaviour expects what client-go v0.37.2 does.
	ClientGoBehaviour = Behaviour(suite.ReferenceBehaviour)
)

// Options say what Run expects. The zero value expects what is right.
type Options struct {
	// Expect is the side of the differences.
	Expect Behaviour
	// Rows are the rows to run, by their ID, for an implementation that is not
	// complete: then the differences are left out. All if empty.
	Rows []string
}

// Run runs the suite: a subtest for each row of the contract, one for the
// differences, and in each of them one for each sentence. It replaces the
// process-wide error handlers while it runs, so it must not run in parallel
// with other tests that report errors there.
func Run(t *testing.T, im Implementation, opts Options) {
	restore := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{reports.take}
	t.Cleanup(func() { utilruntime.ErrorHandlers = restore })
	contract().Run(t, im, suite.Behaviour(opts.Expect), opts.Rows)
}

// contract is the suite, in the terms of what runs it.
func contract() suite.Suite[Implementation] {
	s := suite.Suite[Implementation]{Name: func(im Implementation) string { return im.Name }}
	for _, r := range rows() {
		row := suite.Row[Implementation]{ID: r.id, Needs: r.needs}
		for _, c := range r.tests {
			row.Tests = append(row.Tests, suite.Test[Implementation]{Sentence: c.sentence, Run: c.run, Real: c.real, Only: c.only})
		}
		s.Rows = append(s.Rows, row)
	}
	for _, d := range differences() {
		s.Differences = append(s.Differences, suite.Difference[Implementation]{
			ID: d.ID, Situation: d.Situation, Reference: d.ClientGo, Right: d.Right, Source: d.Source,
			Outcome: d.outcome, WeakOutcome: d.weak, RightOutcome: d.right, Real: d.real,
		})
	}
	return s
}

// Row is a group of names of the surface, and what is tested about them.
type Row struct {
	// ID is the row's name in the contract.
	ID string
	// Sentences are the names of its tests.
	Sentences []string
}

// Rows lists the rows in the order in which Run runs them.
func Rows() []Row {
	var list []Row
	for _, r := range rows() {
		row := Row{ID: r.id}
		for _, test := range r.tests {
			row.Sentences = append(row.Sentences, test.sentence)
		}
		list = append(list, row)
	}
	return list
}

// row is a Row with its tests, and the fields of Implementation that it needs;
// see Implementation.missing.
type row struct {
	id    string
	needs []string
	tests []test
}

func rows() []row {
	return []row{
		storeRow(),
		threadSafeRow(),
		queueRow(),
		deltasRow(),
		listWatchRow(),
		reflectorRow(),
		controllerRow(),
		sharedInformerRow(),
		handlersRow(),
		errorsRow(),
		restRow(),
	}
}

// test is one sentence of the contract. A real test runs in real time, the
// others in a bubble. Where only is set, the test is of those implementations
// alone.
type test struct {
	sentence string
	run      func(*testing.T, Implementation)
	real     bool
	only     func(Implementation) bool
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
