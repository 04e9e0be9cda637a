package main

import (
	_ "embed"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The expectations of each suite: how many tests it has, and which differ on
// purpose. The file's head says how its lines are written.
//
//go:embed expected.txt
var expectedText string

type expectation struct {
	tests, cut  int
	differences []difference
}

// A difference is a test that fails over kinglet on purpose.
type difference struct {
	test   string
	reason string
	row    string // words of a drop-in's doc.go about it, or "client-go"; "" of a race
	line   int    // of expected.txt
	// race is whether the test fails only now and then, since it races with what
	// it tests: then it has more than one attempt.
	race bool
	seen bool
}

// parseExpected reads expected.txt. Every row of a difference has to stand in
// doc, the text of the drop-ins' doc.go.
func parseExpected(text, doc string) (map[string]*expectation, error) {
	doc = words(strings.ReplaceAll(doc, "//", " "))
	all := map[string]*expectation{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("expected.txt:%d: %s", i+1, fmt.Sprintf(format, args...))
		}
		fields := strings.Split(line, "|")
		for j := range fields {
			fields[j] = strings.TrimSpace(fields[j])
		}
		switch {
		case fields[0] == "suite" && len(fields) == 4:
			tests, err1 := strconv.Atoi(fields[2])
			cut, err2 := strconv.Atoi(fields[3])
			if err1 != nil || err2 != nil {
				return nil, wrong("%q and %q should be numbers of tests", fields[2], fields[3])
			}
			if all[fields[1]] != nil {
				return nil, wrong("suite %s stands here twice", fields[1])
			}
			all[fields[1]] = &expectation{tests: tests, cut: cut}
		case fields[0] == "differs" && len(fields) == 5:
			e := all[fields[1]]
			if e == nil {
				return nil, wrong("suite %q has no line of its own above", fields[1])
			}
			d := difference{test: fields[2], reason: fields[3], row: fields[4], line: i + 1}
			if d.test == "" || d.reason == "" {
				return nil, wrong("a difference needs a test and a reason")
			}
			if row := words(d.row); row != "client-go" && (row == "" || !strings.Contains(doc, row)) {
				return nil, wrong("the drop-ins' doc.go does not have the words %q", d.row)
			}
			e.differences = append(e.differences, d)
		case fields[0] == "races" && len(fields) == 4:
			e := all[fields[1]]
			if e == nil {
				return nil, wrong("suite %q has no line of its own above", fields[1])
			}
			if fields[2] == "" || fields[3] == "" {
				return nil, wrong("a race needs a test and a reason")
			}
			e.differences = append(e.differences, difference{test: fields[2], reason: fields[3], line: i + 1, race: true})
		default:
			return nil, wrong("neither \"suite | name | tests | cut\", \"differs | suite | test | reason | words of a doc.go\" nor \"races | suite | test | reason\"")
		}
	}
	return all, nil
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// readExpected reads the list of this build for the checkout around it.
func readExpected() (map[string]*expectation, error) {
	var doc []byte
	for _, name := range []string{"../../cache/doc.go", "../../workqueue/doc.go", "../../ctrlruntime/doc.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		doc = append(doc, text...)
	}
	return parseExpected(expectedText, string(doc))
}

// differs returns the difference that explains the failure of a test, nil if
// there is none: one of its own name, or of a test that it is a subtest of.
func (e *expectation) differs(test string) *difference {
	for i := range e.differences {
		d := &e.differences[i]
		if test == d.test || strings.HasPrefix(test, d.test+"/") {
			return d
		}
	}
	return nil
}
