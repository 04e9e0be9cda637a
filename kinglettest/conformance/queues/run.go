package queues

import (
	"testing"

	"github.com/kinglet-go/kinglet/kinglettest/conformance/internal/suite"
)

type (
	// Options are the options of [Run]. The zero value expects the correct results.
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
	// RightBehaviour expects the correct results, which are kinglet's.
	RightBehaviour = suite.RightBehaviour
	// ClientGoBehaviour expects the results of client-go v0.37.2.
	ClientGoBehaviour = suite.ReferenceBehaviour
)

// Run runs the suite: a subtest for each row of the contract and one for the differences,
// each with a subtest for each sentence.
func Run(t *testing.T, im Implementation, opts Options) { contract().Run(t, im, opts) }

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
		queueRow(),
		shutdownRow(),
		delaysRow(),
		limitersRow(),
		metricsRow(),
		parallelRow(),
	}
}

// DifferencesDoc renders the differences as a list in a doc comment, with lines of at most
// 80 columns that begin with "//".
func DifferencesDoc() string { return contract().Doc() }
