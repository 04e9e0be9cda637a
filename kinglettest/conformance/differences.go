package conformance

import (
	"slices"
	"testing"
)

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

	// outcome plays the scenario and puts into words what came of it.
	outcome func(*testing.T, Implementation) string
	// weak and right are the two outcomes.
	weak, right string
	real        bool
}

// Differences lists the differences in the order in which Run tests them.
func Differences() []Difference { return differences() }

func differences() []Difference {
	return slices.Concat(informerDifferences(), storeDifferences(), queueDifferences())
}

// DifferencesTable renders the differences as a table in Markdown, under a
// heading of its columns.
func DifferencesTable() string { return contract().Table() }

// DifferencesDoc renders the differences for a doc comment: a list, of which
// godoc makes one, with lines of at most 80 columns that begin with "//".
func DifferencesDoc() string { return contract().Doc() }
