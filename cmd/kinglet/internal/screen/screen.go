package screen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/kinglet-go/kinglet/internal/trouble"
)

// Streams are the ends of a process.
type Streams struct {
	Out, Err io.Writer
	// NoColor is set where the environment has NO_COLOR, or a dumb terminal.
	NoColor bool
}

// Colors reports whether stdout may be coloured.
func (s Streams) Colors() bool { return !s.NoColor && isTerminal(file(s.Out)) }

// Width returns the width of the terminal that shows stdout, 0 if there is
// none.
func (s Streams) Width() int { return widthOf(file(s.Out)) }

// Screen is where output goes. Its methods are safe for concurrent use.
type Screen struct {
	out, err io.Writer
	terminal *os.File // that rows are drawn on; nil if there is none

	mu    sync.Mutex
	rows  func(width int) []string // guarded by mu
	drawn []int                    // guarded by mu; the widths of the rows that the terminal shows
}

// Open returns a Screen for the streams. It draws rows if a person at a terminal reads
// stderr, and nothing but that terminal or a file gets stdout: what goes into a pipe may
// end up on the same terminal, where it would be drawn over. If programs read stdout
// (quiet), it draws none, even where stdout is a terminal.
func Open(s Streams, quiet bool) *Screen {
	screen := &Screen{out: s.Out, err: s.Err}
	out, err := file(s.Out), file(s.Err)
	switch {
	case !isTerminal(err) || os.Getenv("TERM") == "dumb":
	case isTerminal(out):
		if !quiet {
			// One terminal, so everything is written through one stream.
			screen.terminal, screen.err = out, out
		}
	case isRegular(out):
		screen.terminal = err
	}
	return screen
}

// Live reports whether rows are drawn. Otherwise it is for the caller to write a Note now
// and then.
func (s *Screen) Live() bool { return s.terminal != nil }

// Event writes whole lines to stdout. The error is stdout's.
func (s *Screen) Event(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeLocked(s.out, lines)
}

// Note writes one line for the person to stderr, as trouble.Printable has it: it may
// have a server's words.
func (s *Screen) Note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// There is nobody left to tell if stderr fails.
	_ = s.writeLocked(s.err, []byte(trouble.Printable(line)+"\n"))
}

// Rows sets the rows at the bottom. rows is called with the width there is, until Close
// returns, and must not call the Screen.
func (s *Screen) Rows(rows func(width int) []string) {
	s.mu.Lock()
	s.rows = rows
	s.mu.Unlock()
	s.Redraw()
}

// Redraw draws the rows again. It does nothing if the Screen is not live.
func (s *Screen) Redraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal != nil {
		_ = s.writeLocked(s.terminal, nil)
	}
}

// Close removes the rows, and draws no more.
func (s *Screen) Close() {
	s.Rows(nil)
}

// writeLocked writes text above the rows. On their terminal it erases them, writes, and
// draws them again in one write, so that nothing is ever mixed with them.
func (s *Screen) writeLocked(to io.Writer, text []byte) error {
	if s.terminal == nil || to != io.Writer(s.terminal) {
		_, err := to.Write(text)
		return err
	}
	width := widthOf(s.terminal)
	var b bytes.Buffer
	// What a person types stands behind the last row. Rows that are wider than the
	// terminal has become take several lines.
	up := -1
	for _, w := range s.drawn {
		up += max(1, (w+max(width, 1)-1)/max(width, 1))
	}
	if up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteString("\r\x1b[J")
	b.Write(text)
	s.drawn = s.drawn[:0]
	if s.rows != nil {
		for k, row := range s.rows(width) {
			if k > 0 {
				b.WriteString("\r\n")
			}
			row = fit(row, width)
			b.WriteString(row)
			s.drawn = append(s.drawn, runewidth.StringWidth(row))
		}
	}
	_, err := s.terminal.Write(b.Bytes())
	return err
}

// fit makes text one line of at most width columns, the last of which is left
// free: some terminals wrap when it is written.
func fit(text string, width int) string {
	return runewidth.Truncate(trouble.Printable(text), max(0, width-1), "…")
}

func file(w any) *os.File {
	f, _ := w.(*os.File)
	return f
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

func widthOf(f *os.File) int {
	if !isTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// isRegular reports whether what is written to f is not seen by anybody now.
func isRegular(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeDevice != 0)
}
