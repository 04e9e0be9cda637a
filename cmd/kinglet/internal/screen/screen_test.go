package screen

import (
	"bytes"
	"testing"

	"github.com/mattn/go-runewidth"
	"github.com/vbauerster/mpb/v8/decor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPlainScreenWritesLinesAndNothingElse(t *testing.T) {
	var out, err bytes.Buffer
	s := Open(Streams{Out: &out, Err: &err}, false)
	s.Progress(func() Progress { return Progress{Name: "pods"} })()
	s.Status(func(int) string { return "status" })
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

func TestAProgressRowFitsAnyWidth(t *testing.T) {
	for _, p := range []Progress{
		{Name: "pods", Done: 1200, Total: 50000, Text: "1,200 of 50,000 objects, 7.3 MiB, 4,100/s"},
		{Name: "pods", Done: 1200, Text: "1,200 objects"},
		{Name: "a-very-long-name-of-a-custom-resource.example.com", Done: 9, Total: 3, Text: "9 of 3 objects"},
		{Name: "pods"},
	} {
		for width := range 150 {
			var b bytes.Buffer
			if err := progressRow(func() Progress { return p }).Fill(&b, decor.Statistics{AvailableWidth: width}); err != nil {
				t.Fatal(err)
			}
			if got := runewidth.StringWidth(b.String()); got > width {
				t.Fatalf("width %d: %d columns: %q", width, got, b.String())
			}
		}
	}
}
