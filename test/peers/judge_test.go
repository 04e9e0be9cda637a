package main

import (
	"slices"
	"strings"
	"testing"
)

const someDoc = "// Package cache\n//   - When a relist finds an\n//     object as it was: nobody is told.\n"

func expect(t *testing.T, text string) *expectation {
	t.Helper()
	all, err := parseExpected(text, someDoc)
	if err != nil {
		t.Fatal(err)
	}
	return all["s"]
}

func named(test string) testName { return testName{pkg: "p", test: test} }

var failing, passing = outcome{}, outcome{passed: true}

func TestAFailureIsExplainedByTheListOrFailsTheSuite(t *testing.T) {
	const list = "suite | s | 2 | 0\ndiffers | s | TestA/one | because | When a relist finds an object as it was\n"
	const race = "suite | s | 1 | 0\nraces | s | TestA | because\n"
	for _, c := range []struct {
		name     string
		list     string
		outcomes map[testName]outcome
		cut      int
		part     bool // of the suite was asked for
		failed   []string
		differ   int
		problem  string
	}{
		{
			name: "a subtest on the list", list: list, differ: 1,
			outcomes: map[testName]outcome{named("TestA"): failing, named("TestA/one"): failing, named("TestA/two"): passing, named("TestB"): passing},
		}, {
			name: "a subtest beside it that is not", list: list, failed: []string{"TestA/two"},
			outcomes: map[testName]outcome{named("TestA"): failing, named("TestA/one"): failing, named("TestA/two"): failing, named("TestB"): passing},
		}, {
			name: "another test", list: list, failed: []string{"TestB"}, differ: 1,
			outcomes: map[testName]outcome{named("TestA"): failing, named("TestA/one"): failing, named("TestB"): failing},
		}, {
			name: "one on the list that passes", list: list, problem: "TestA/one passes",
			outcomes: map[testName]outcome{named("TestA"): passing, named("TestA/one"): passing, named("TestB"): passing},
		}, {
			name: "one on the list that is not there", list: list, problem: "did not run",
			outcomes: map[testName]outcome{named("TestA"): passing, named("TestB"): passing},
		}, {
			name: "one on the list that was skipped", list: list, problem: "did not run",
			outcomes: map[testName]outcome{named("TestA"): passing, named("TestA/one"): {passed: true, skipped: true}, named("TestB"): passing},
		}, {
			name: "one on the list that was not asked for", list: list, part: true,
			outcomes: map[testName]outcome{named("TestB"): passing},
		}, {
			name: "the test of a subtest on the list, which fails by itself", list: list, failed: []string{"TestA"}, problem: "did not run",
			outcomes: map[testName]outcome{named("TestA"): failing, named("TestB"): passing},
		}, {
			name: "a race that is lost", list: race, failed: []string{"TestA"},
			outcomes: map[testName]outcome{named("TestA"): failing},
		}, {
			name: "a race that is won", list: race,
			outcomes: map[testName]outcome{named("TestA"): passing},
		}, {
			name: "a race that is not there", list: race, problem: "did not run",
			outcomes: map[testName]outcome{named("TestB"): passing},
		}, {
			name: "fewer tests than there were", list: "suite | s | 3 | 0", problem: "2 tests ran",
			outcomes: map[testName]outcome{named("TestA"): passing, named("TestB"): passing},
		}, {
			name: "a test that is skipped now", list: "suite | s | 2 | 0", problem: "1 tests ran",
			outcomes: map[testName]outcome{named("TestA"): passing, named("TestB"): {passed: true, skipped: true}},
		}, {
			name: "more that was cut", list: "suite | s | 1 | 0", problem: "1 were cut", cut: 1,
			outcomes: map[testName]outcome{named("TestA"): passing},
		}, {
			name: "a spec with a slash", list: "suite | s | 1 | 0\ndiffers | s | reads a/b | because | nobody is told", differ: 1,
			outcomes: map[testName]outcome{{pkg: "p", test: "reads a/b", spec: true}: failing},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := judge(expect(t, c.list), c.outcomes, c.cut, !c.part)
			var failed []string
			for _, f := range v.failed {
				failed = append(failed, f.name.test)
			}
			if !slices.Equal(failed, c.failed) {
				t.Errorf("failed: %q, want %q", failed, c.failed)
			}
			if v.differing != c.differ {
				t.Errorf("%d differ, want %d", v.differing, c.differ)
			}
			if got := strings.Join(v.problems, "\n"); c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
				t.Errorf("problems %q, want %q", got, c.problem)
			}
		})
	}
}

func TestALineOfTheListThatIsWrongIsNamed(t *testing.T) {
	for line, want := range map[string]string{
		"suite | s | many | 1":              "numbers of tests",
		"suite | s | 1":                     "neither",
		"differs | s | TestA | r | no such": "does not have the words",
		"differs | s | TestA | r |":         "does not have the words",
		"differs | s | TestA | | nobody":    "needs a test and a reason",
		"differs | t | TestA | r | nobody":  "no line of its own",
		"races | t | TestA | r":             "no line of its own",
		"races | s | TestA |":               "needs a test and a reason",
		"races | s | | r":                   "needs a test and a reason",
		"suite | s | 2 | 3":                 "twice",
	} {
		_, err := parseExpected("suite | s | 1 | 1\n"+line, someDoc)
		if err == nil || !strings.HasPrefix(err.Error(), "expected.txt:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want line 2 and %q", line, err, want)
		}
	}
}

func TestTheListOfThisRepositoryIsValid(t *testing.T) {
	all, err := readExpected()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range slices.Concat(suites, operatorSuites()) {
		if all[s.name] == nil && !s.starts {
			t.Errorf("suite %s has no line in expected.txt", s.name)
		}
	}
}
