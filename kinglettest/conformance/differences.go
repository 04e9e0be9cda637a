package conformance

import (
	"slices"
	"testing"
)

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

	// outcome runs the scenario and describes its result.
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

// DifferencesTable renders the differences as a Markdown table with a header.
func DifferencesTable() string { return contract().Table() }

// DifferencesDoc renders the differences as a list in a doc comment, with lines of at most
// 80 columns that begin with "//".
func DifferencesDoc() string { return contract().Doc() }
