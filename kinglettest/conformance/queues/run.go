package queues

import (
	"testing"

	"github.com/kinglet-go/kinglet/kinglettest/conformance/internal/suite"
)

// Behaviour is the side of the [Differences] that is expected.
type Behaviour int

const (
	// RightBehaviour expects the correct results, which are kinglet's.
	RightBehaviour = Behaviour(suite.RightBehaviour)
	// ClientGoBehaviour expects the results of client-go v0.37.2.
	ClientGoBehaviour = Behaviour(suite.ReferenceBehaviour)
)

// Options are the options of Run. The zero value expects the correct results.
type Options struct {
	// Expect is the side of the differences.
	Expect Behaviour
	// Rows are the IDs of the rows to run, for an implementation that is not complete.
	// The differences are left out then. If it is empty, everything runs.
	Rows []string
}

// Run runs the suite: a subtest for each row of the contract and one for the differences,
// each with a subtest for each sentence.
func Run(t *testing.T, im Implementation, opts Options) {
	contract().Run(t, im, suite.Behaviour(opts.Expect), opts.Rows)
}

type (
	row  = suite.Row[Implementation]
	test = suite.Test[Implementation]
)

func contract() suite.Suite[Implementation] {
	return suite.Suite[Implementation]{
		Name: func(im Implementation) string { return im.Name },
		Rows: []row{
			queueRow(),
			shutdownRow(),
			orderRow(),
			delaysRow(),
			rateLimitsRow(),
			limitersRow(),
			metricsRow(),
			parallelRow(),
		},
		Differences: differences(),
	}
}

// Row is a group of names of the API, and the tests about them.
type Row struct {
	// ID is the row's name in the contract.
	ID string
	// Sentences are the names of its tests.
	Sentences []string
}

// Rows lists the rows in the order in which Run runs them.
func Rows() []Row {
	var list []Row
	for _, r := range contract().Rows {
		row := Row{ID: r.ID}
		for _, test := range r.Tests {
			row.Sentences = append(row.Sentences, test.Sentence)
		}
		list = append(list, row)
	}
	return list
}

// Difference is a place where client-go is wrong or weak, and where an implementation
// should differ from it.
type Difference struct {
	// ID names the difference, and its subtest.
	ID string
	// Situation describes what happens.
	Situation string
	// ClientGo is the result with client-go v0.37.2, and Right the correct result,
	// which is kinglet's.
	ClientGo, Right string
	// Source is where the weakness is reported or described.
	Source string
}

// Differences lists the differences in the order in which Run tests them.
func Differences() []Difference {
	var list []Difference
	for _, d := range differences() {
		list = append(list, Difference{ID: d.ID, Situation: d.Situation, ClientGo: d.Reference, Right: d.Right, Source: d.Source})
	}
	return list
}

// DifferencesDoc renders the differences as a list in a doc comment, with lines of at most
// 80 columns that begin with "//".
func DifferencesDoc() string { return contract().Doc() }
