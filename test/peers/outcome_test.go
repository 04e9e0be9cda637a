package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPackageThatFailsThoughItsTestsPassIsAFailure(t *testing.T) {
	rec := newRecord(io.Discard)
	err := rec.read(strings.NewReader(`
		{"Action":"run","Package":"p","Test":"TestA"}
		{"Action":"pass","Package":"p","Test":"TestA"}
		{"Action":"output","Package":"p","Output":"found unexpected goroutines\n"}
		{"Action":"fail","Package":"p"}
		{"Action":"run","Package":"q","Test":"TestB"}
		{"Action":"fail","Package":"q","Test":"TestB"}
		{"Action":"fail","Package":"q"}
		{"Action":"run","Package":"r","Test":"TestC"}
		{"Action":"fail","Package":"r"}`))
	if err != nil {
		t.Fatal(err)
	}
	if o := rec.failedOutsideOfTests("p"); o == nil || len(o.output) != 1 {
		t.Errorf("got %v, want an outcome with p's output", o)
	}
	for _, pkg := range []string{"q", "r"} {
		if o := rec.failedOutsideOfTests(pkg); o != nil {
			t.Errorf("of %s: got %v", pkg, o)
		}
	}
}

func TestSpecsStandInThePlaceOfTheTestThatRanThem(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.json")
	suite := testName{pkg: "p", test: "TestSource"}
	for name, c := range map[string]struct {
		report string
		passed bool // the test
		want   map[string]outcome
	}{
		"all pass": {
			`{"LeafNodeType":"BeforeSuite","State":"passed"},
			 {"ContainerHierarchyTexts":["Cache","with  a"],"LeafNodeType":"It","LeafNodeText":"reads","State":"passed"},
			 {"ContainerHierarchyTexts":["Cache","with a"],"LeafNodeType":"It","LeafNodeText":"reads","State":"pending"}`, true,
			map[string]outcome{"Cache with a reads": passing, "Cache with a reads #2": {passed: true, skipped: true}},
		},
		"one fails": {
			`{"LeafNodeType":"It","LeafNodeText":"reads","State":"timedout"}`, false,
			map[string]outcome{"reads": failing},
		},
		"no spec ran": {
			`{"LeafNodeType":"BeforeSuite","State":"failed"},{"LeafNodeType":"It","LeafNodeText":"reads","State":"skipped"}`, false,
			map[string]outcome{"BeforeSuite": failing, "reads": {passed: true, skipped: true}},
		},
		"the test fails beside them": {
			`{"LeafNodeType":"It","LeafNodeText":"reads","State":"passed"}`, false,
			map[string]outcome{"reads": passing, "TestSource": failing},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(report, []byte(`[{"SpecReports":[`+c.report+`]}]`), 0o666); err != nil {
				t.Fatal(err)
			}
			got := map[testName]outcome{suite: {passed: c.passed}}
			if err := addSpecs(got, suite, report); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for n, o := range got {
				if w, ok := c.want[n.test]; !ok || w.passed != o.passed || w.skipped != o.skipped {
					t.Errorf("%s: got %v, want %v", n.test, o, w)
				}
			}
		})
	}
}
