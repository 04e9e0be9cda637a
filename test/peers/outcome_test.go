package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
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
	failed := rec.failedOutsideOfTests()
	o, ok := failed[testName{pkg: "p", test: "TestMain"}]
	if len(failed) != 1 || !ok || len(o.output) != 1 {
		t.Errorf("got %v, want p's TestMain with its output", failed)
	}
}

func TestATestThatTakesTooLongIsNoticedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r running
		calls := 0
		stop := r.watch(time.Minute, func() { calls++ })
		for range 10 {
			r.start(named("TestShort"))
			testbubble.Pass(50 * time.Second)
			r.end(named("TestShort"))
		}
		r.start(named("TestLong/one")) // The limit is not for subtests.
		testbubble.Pass(2 * time.Minute)
		r.end(named("TestLong/one"))
		synctest.Wait()
		if calls != 0 {
			t.Errorf("%d calls before any test was too long", calls)
		}
		r.start(named("TestLong"))
		testbubble.Pass(5 * time.Minute)
		stop()
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
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

func TestNoReportIsAnError(t *testing.T) {
	suite := testName{pkg: "p", test: "TestSource"}
	err := addSpecs(map[testName]outcome{suite: {output: []string{"no control plane"}}}, suite, filepath.Join(t.TempDir(), "none.json"))
	if err == nil || !strings.Contains(err.Error(), "no control plane") {
		t.Errorf("got %v, want an error with what the test said", err)
	}
}
