// Package suite runs a contract as a test suite over an implementation. The implementation
// is a struct of functions whose type is a parameter: see packages conformance and
// conformance/queues.
package suite

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// Behaviour is the side of the differences that is expected.
type Behaviour int

const (
	// RightBehaviour expects the correct results.
	RightBehaviour Behaviour = iota
	// ReferenceBehaviour expects the results of the reference.
	ReferenceBehaviour
)

// Options are the options of a run. The zero value expects the correct results.
type Options struct {
	// Expect is the side of the differences.
	Expect Behaviour
	// Rows are the IDs of the rows to run, for an implementation that is not complete.
	// The differences are left out then. If it is empty, everything runs.
	Rows []string
}

// Suite is a contract of implementations of type I.
type Suite[I any] struct {
	// Name returns an implementation's name, for failures.
	Name        func(I) string
	Rows        []Row[I]
	Differences []Difference[I]
}

// Row is a group of tests and the fields of I that they need; see missing.
type Row[I any] struct {
	ID    string
	Needs []string
	Tests []Test[I]
}

// Test is one sentence of the contract. A Real test runs in real time, the others in a
// bubble. If Only is set, the test runs only for implementations for which it is true.
type Test[I any] struct {
	Sentence string
	Run      func(*testing.T, I)
	Real     bool
	Only     func(I) bool
}

// Difference is a scenario in which the reference is wrong or weak.
type Difference[I any] struct {
	// ID names the difference, and its subtest.
	ID string
	// Situation, Reference and Right are for people: what happens, the result of the
	// reference, and the correct result. Source is where the weakness is reported or
	// described.
	Situation, Reference, Right, Source string
	// Outcome runs the scenario and describes its result: WeakOutcome or
	// RightOutcome.
	Outcome                   func(*testing.T, I) string
	WeakOutcome, RightOutcome string
	Real                      bool
}

// Run runs a subtest for each row, or for the rows that are named. If none is named, it
// also runs one for the differences. Each has a subtest for each of its sentences.
func (s Suite[I]) Run(t *testing.T, im I, opts Options) {
	for _, r := range s.Rows {
		if len(opts.Rows) > 0 && !slices.Contains(opts.Rows, r.ID) {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			if missing := missing(im, r.Needs); len(missing) > 0 {
				t.Fatalf("%s lacks what row %q is about: %s", s.Name(im), r.ID, strings.Join(missing, ", "))
			}
			for _, test := range r.Tests {
				if test.Only == nil || test.Only(im) {
					t.Run(test.Sentence, func(t *testing.T) { start(t, test.Real, func(t *testing.T) { test.Run(t, im) }) })
				}
			}
		})
	}
	if len(opts.Rows) > 0 {
		return
	}
	t.Run("differences", func(t *testing.T) {
		for _, d := range s.Differences {
			t.Run(d.ID, func(t *testing.T) {
				want := d.RightOutcome
				if opts.Expect == ReferenceBehaviour {
					want = d.WeakOutcome
				}
				start(t, d.Real, func(t *testing.T) {
					if got := d.Outcome(t, im); got != want {
						t.Errorf("%s: %s\n got: %s\nwant: %s", s.Name(im), d.Situation, got, want)
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

// missing returns the names of the wanted functions that are nil. A name that ends with a
// star stands for every field with that prefix. Fields with the tag
// conformance:"optional" are never missing.
func missing(im any, wanted []string) []string {
	var names []string
	v := reflect.ValueOf(im)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if v.Field(i).Kind() != reflect.Func || !v.Field(i).IsNil() || field.Tag.Get("conformance") == "optional" {
			continue
		}
		for _, w := range wanted {
			prefix, all := strings.CutSuffix(w, "*")
			if field.Name == w || all && strings.HasPrefix(field.Name, prefix) {
				names = append(names, field.Name)
				break
			}
		}
	}
	return names
}

// Table renders the differences as a Markdown table with a header.
func (s Suite[I]) Table() string {
	var b strings.Builder
	b.WriteString("| when | client-go | here | source |\n| --- | --- | --- | --- |\n")
	for _, d := range s.Differences {
		b.WriteString("| " + d.Situation + " | " + d.Reference + " | " + d.Right + " | " + d.Source + " |\n")
	}
	return b.String()
}

// Doc renders the differences as a list in a doc comment, with lines of at most 80 columns
// that begin with "//".
func (s Suite[I]) Doc() string {
	var b strings.Builder
	for _, d := range s.Differences {
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
