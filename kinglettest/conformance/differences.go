package conformance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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

func (d Difference) check(t *testing.T, im Implementation, expect Behaviour) {
	want := d.right
	if expect == ClientGoBehaviour {
		want = d.weak
	}
	run := func(t *testing.T) {
		if got := d.outcome(t, im); got != want {
			t.Errorf("%s: %s\n got: %s\nwant: %s", im.Name, d.Situation, got, want)
		}
	}
	if d.real {
		run(t)
		return
	}
	synctest.Test(t, run)
}

// DifferencesTable renders the differences as a table in Markdown, under a
// heading of its columns.
func DifferencesTable() string {
	var b strings.Builder
	b.WriteString("| when | client-go | here | source |\n| --- | --- | --- | --- |\n")
	for _, d := range differences() {
		b.WriteString("| " + d.Situation + " | " + d.ClientGo + " | " + d.Right + " | " + d.Source + " |\n")
	}
	return b.String()
}

// DifferencesDoc renders the differences for a doc comment: a list, of which
// godoc makes one, with lines of at most 80 columns that begin with "//".
func DifferencesDoc() string {
	var b strings.Builder
	for _, d := range differences() {
		text := "When " + d.Situation + ": " + d.ClientGo + ". Here: " + d.Right + "."
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
