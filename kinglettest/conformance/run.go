package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinglet-go/kinglet/kinglettest/conformance/internal/suite"
)

type (
	// Options are the options of [Run]. The zero value expects what is right.
	Options = suite.Options
	// Row is a group of names of the API, and the tests about them.
	Row = suite.Row[Implementation]
	// Difference is a place where client-go is wrong or weak, and where an implementation
	// should differ from it.
	Difference = suite.Difference[Implementation]

	row  = Row
	test = suite.Test[Implementation]
)

// The two sides of the [Differences].
const (
	// RightBehaviour expects what should be, which is what kinglet does.
	RightBehaviour = suite.RightBehaviour
	// ClientGoBehaviour expects what client-go v0.37.2 does.
	ClientGoBehaviour = suite.ReferenceBehaviour
)

// Run runs the suite: a subtest for each row of the contract, one for the
// differences, and in each of them one for each sentence. It replaces the
// process-wide error handlers while it runs, so it must not run in parallel
// with other tests that report errors there.
func Run(t *testing.T, im Implementation, opts Options) {
	restore := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{reports.take}
	t.Cleanup(func() { utilruntime.ErrorHandlers = restore })
	contract().Run(t, im, opts)
}

func contract() suite.Suite[Implementation] {
	return suite.Suite[Implementation]{
		Name:        func(im Implementation) string { return im.Name },
		Rows:        Rows(),
		Differences: Differences(),
	}
}

// Rows lists the rows in the order in which Run runs them.
func Rows() []Row {
	return []Row{
		storeRow(),
		olderRow(),
		listWatchRow(),
		reflectorRow(),
		controllerRow(),
		sharedInformerRow(),
		handlersRow(),
		errorsRow(),
		waitsRow(),
	}
}

// Differences lists the differences in the order in which Run tests them.
func Differences() []Difference {
	return slices.Concat(informerDifferences(), storeDifferences(), queueDifferences())
}

// DifferencesTable renders the differences as a Markdown table with a header.
func DifferencesTable() string { return contract().Table() }

// DifferencesDoc renders the differences as a list in a doc comment, with lines of at most
// 80 columns that begin with "//".
func DifferencesDoc() string { return contract().Doc() }

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
