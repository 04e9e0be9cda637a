package screen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"

	"github.com/kinglet-go/kinglet/internal/testkit"
)

// pty opens a pseudo-terminal of the given width: what is written to the
// second file can be read from the first, as a terminal would get it.
func pty(t *testing.T, width int) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(width)}); err != nil {
		t.Fatal(err)
	}
	return master, tty
}

// show runs use with a Screen on a terminal of the given width, and returns
// what stands there at the end.
func show(t *testing.T, width int, use func(s *Screen, tty *os.File)) []string {
	t.Helper()
	master, tty := pty(t, width)
	screen := newTerminal(width)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(screen, master) // ends with EIO once the last tty is closed
	}()
	s := Open(Streams{Out: tty, Err: tty}, false)
	if !s.Live() {
		t.Fatal("not live on a terminal")
	}
	use(s, tty)
	s.Close()
	tty.Close()
	<-done
	master.Close()
	return screen.text()
}

func TestEventLinesAreNeverMixedWithTheStatusLine(t *testing.T) {
	seed := testkit.Seed(t)
	for _, width := range []int{20, 60, 120} {
		const writers, each = 3, 200
		got := show(t, width, func(s *Screen, tty *os.File) {
			s.Rows(func(int) []string { return []string{"pods [===>", "STATUS " + strings.Repeat("│ segment ", 20)} })
			var all sync.WaitGroup
			for w := range writers {
				all.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(w)))
					for i := range each {
						line := fmt.Sprintf("event %d %d", w, i)
						if r.IntN(20) == 0 {
							s.Note("note  " + line[len("event "):])
							continue
						}
						if err := s.Event([]byte(line + "\n")); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range 20 {
				s.Redraw()
			}
			all.Wait()
		})
		next := make([]int, writers)
		for _, line := range got {
			var w, i int
			if n, _ := fmt.Sscanf(line, "event %d %d", &w, &i); n != 2 {
				if n, _ := fmt.Sscanf(line, "note %d %d", &w, &i); n != 2 {
					if line != "" && !strings.HasPrefix(line, "STATUS") && !strings.HasPrefix(line, "pods") {
						t.Errorf("width %d: what is this: %q", width, line)
					}
					continue
				}
			}
			if i != next[w] {
				t.Fatalf("width %d: after line %d of writer %d comes %q", width, next[w]-1, w, line)
			}
			next[w]++
			if want := fmt.Sprintf("%d %d", w, i); !strings.HasSuffix(line, " "+want) {
				t.Errorf("width %d: the line was mixed with something: %q", width, line)
			}
		}
		for w, n := range next {
			if n != each {
				t.Errorf("width %d: %d lines of writer %d, want %d", width, n, w, each)
			}
		}
		for _, line := range got {
			if runewidth.StringWidth(line) > width {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}

func TestTheRowsStandBelowTheEventsAndOnlyOnceWhateverIsTyped(t *testing.T) {
	got := show(t, 80, func(s *Screen, tty *os.File) {
		rows := []string{"pods", "STATUS"}
		s.Rows(func(int) []string { return rows })
		for i := range 5 {
			if err := s.Event(fmt.Appendf(nil, "event %d\n", i)); err != nil {
				t.Error(err)
			}
			// A terminal echoes where its cursor is, behind kinglet's back.
			if _, err := tty.WriteString("^C"); err != nil {
				t.Error(err)
			}
			s.Redraw()
		}
		s.Rows(func(int) []string { return rows[1:] })
		s.Note("note")
	})
	if text := strings.TrimRight(strings.Join(got, "\n"), "\n"); text != "event 0\nevent 1\nevent 2\nevent 3\nevent 4\nnote" {
		t.Errorf("got\n%s", text)
	}
}

func TestEventsGoToTheFileAndTheRestToTheTerminal(t *testing.T) {
	master, tty := pty(t, 80)
	defer master.Close()
	defer tty.Close()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := Open(Streams{Out: file, Err: tty}, false)
	if !s.Live() {
		t.Error("not live although stdout is a file")
	}
	if err := s.Event([]byte("event\n")); err != nil {
		t.Error(err)
	}
	s.Note("note")
	s.Close()
	text, err := os.ReadFile(file.Name())
	if err != nil || string(text) != "event\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestAPipeMakesTheScreenPlainSinceItMayEndOnTheSameTerminal(t *testing.T) {
	master, tty := pty(t, 80)
	defer master.Close()
	defer tty.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, c := range []struct {
		name    string
		streams Streams
		quiet   bool
	}{
		{"stdout is a pipe", Streams{Out: w, Err: tty}, false},
		{"stderr is a pipe", Streams{Out: tty, Err: w}, false},
		{"programs read stdout", Streams{Out: tty, Err: tty}, true},
	} {
		s := Open(c.streams, c.quiet)
		if s.Live() {
			t.Errorf("%s: live", c.name)
		}
		s.Close()
	}
}
