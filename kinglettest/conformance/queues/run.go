package queues

import (
	"testing"

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
// differences, and in each of them one for each sentence.
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
	for _, r := range contract().Rows {
		row := Row{ID: r.ID}
		for _, test := range r.Tests {
			row.Sentences = append(row.Sentences, test.Sentence)
		}
		list = append(list, row)
	}
	return list
}

// Difference is a place where client-go is wrong or weak, and where an
// implementation does well to differ from it.
type Difference struct {
	// ID names the difference, and its subtest.
	ID string
	// Situation says what happens.
	Situation string
	// ClientGo is what client-go v0.37.2 makes of it, and Right what should
	// come of it, which is what kinglet does.
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

// DifferencesDoc renders the differences for a doc comment: a list, of which
// godoc makes one, with lines of at most 80 columns that begin with "//".
func DifferencesDoc() string { return contract().Doc() }
