package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// A specReport is what Ginkgo writes of one spec with -ginkgo.json-report, or of
// a node around the specs such as BeforeSuite.
type specReport struct {
	ContainerHierarchyTexts    []string
	LeafNodeType               string
	LeafNodeText               string
	State                      string
	RunTime                    time.Duration
	CapturedGinkgoWriterOutput string
	Failure                    struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

func (s specReport) passed() bool { return s.State == "passed" || s.skipped() }

// skipped is also true of specs that the suite itself marks as pending.
func (s specReport) skipped() bool { return s.State == "skipped" || s.State == "pending" }

func (s specReport) name() string {
	if s.LeafNodeType != "It" {
		return s.LeafNodeType
	}
	return words(strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " "))
}

// addSpecs puts the specs of Ginkgo's report in the place of the test that ran
// them. Where that failed though no spec has, it stays.
func addSpecs(outcomes map[testName]outcome, runner testName, report string) error {
	text, err := os.ReadFile(report)
	if err != nil {
		return fmt.Errorf("the specs of %s left no report: %w\n%s", runner.test, err, strings.Join(outcomes[runner].output, ""))
	}
	var reports []struct{ SpecReports []specReport }
	if err := json.Unmarshal(text, &reports); err != nil {
		return fmt.Errorf("%s: %w", report, err)
	}
	failed := false
	for _, r := range reports {
		for _, s := range r.SpecReports {
			if s.LeafNodeType != "It" && s.passed() {
				continue
			}
			failed = failed || !s.passed()
			n := testName{pkg: runner.pkg, test: s.name(), spec: true}
			// Entries of a table may have the same text.
			for i := 2; ; i++ {
				if _, ok := outcomes[n]; !ok {
					break
				}
				n.test = fmt.Sprintf("%s #%d", s.name(), i)
			}
			o := outcome{passed: s.passed(), skipped: s.skipped(), elapsed: s.RunTime}
			if !o.passed {
				o.output = []string{
					fmt.Sprintf("%s:%d: %s\n", s.Failure.Location.FileName, s.Failure.Location.LineNumber, s.State),
					s.Failure.Message + "\n",
					s.CapturedGinkgoWriterOutput,
				}
			}
			outcomes[n] = o
		}
	}
	if failed || outcomes[runner].passed {
		delete(outcomes, runner)
	}
	return nil
}
