package screen

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPlainScreenWritesLinesAndNothingElse(t *testing.T) {
	var out, err bytes.Buffer
	s := Open(Streams{Out: &out, Err: &err}, false)
	s.Rows(func(int) []string { return []string{"status"} })
	if e := s.Event([]byte("event\n")); e != nil {
		t.Fatal(e)
	}
	s.Note("note\x1b[2J")
	s.Close()
	if out.String() != "event\n" || err.String() != "note\uFFFD[2J\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), err.String())
	}
}

func TestColoursAndWidthAreATerminals(t *testing.T) {
	s := Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	if s.Colors() || s.Width() != 0 {
		t.Error("a buffer has neither")
	}
}
