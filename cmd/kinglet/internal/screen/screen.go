package screen

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/kinglet-go/kinglet/internal/trouble"
)

// Screen is where output goes. Its methods are safe for concurrent use.
type Screen interface {
	// Event writes whole lines to stdout. The error is stdout's.
	Event(lines []byte) error
	// Note writes one line for the person to stderr, as trouble.Printable has it: it may
	// have a server's words.
	Note(line string)
	// Progress shows a bar until remove is called. Bars stand in the order in
	// which they were asked for, by one goroutine.
	Progress(read func() Progress) (remove func())
	// Status shows one line at the bottom from now on; read is called with
	// the width there is.
	Status(read func(width int) string)
	// Live reports whether Progress and Status show anything. Otherwise it is
	// for the caller to write a Note now and then.
	Live() bool
	// Close removes what is at the bottom; nothing may be called after it.
	Close()
}

// Progress is the state of one bar.
type Progress struct {
	Name string
	// Total is 0 if it is not known.
	Done, Total int64
	// Text stands behind the bar: numbers.
	Text string
}

// Streams are the ends of a process.
type Streams struct {
	Out, Err io.Writer
	// NoColor is set where the environment has NO_COLOR, or a dumb terminal.
	NoColor bool
}

// Open returns a Screen for the streams: live if a person at a terminal reads
// stderr, and nothing but that terminal or a file gets stdout. What goes into
// a pipe may end up on the same terminal, where it would be drawn over; there
// the Screen is plain. So it is if programs read stdout (quiet), even where it
// is a terminal.
func Open(s Streams, quiet bool) Screen {
	errFile, outFile := file(s.Err), file(s.Out)
	if !isTerminal(errFile) || os.Getenv("TERM") == "dumb" {
		return newPlain(s)
	}
	switch {
	case isTerminal(outFile):
		if quiet {
			return newPlain(s)
		}
		// One terminal, so everything is written through one stream.
		return newLive(outFile, nil)
	case isRegular(outFile):
		return newLive(errFile, s.Out)
	}
	return newPlain(s)
}

// Colors reports whether stdout may be coloured.
func (s Streams) Colors() bool { return !s.NoColor && isTerminal(file(s.Out)) }

// Width returns the width of the terminal that shows stdout, 0 if there is
// none.
func (s Streams) Width() int {
	f := file(s.Out)
	if !isTerminal(f) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func file(w any) *os.File {
	f, _ := w.(*os.File)
	return f
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// isRegular reports whether what is written to f is not seen by anybody now.
func isRegular(f *os.File) bool {
	if f == nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeDevice != 0)
}

// plain writes lines, and shows nothing that moves.
type plain struct {
	mu  sync.Mutex // one line at a time, where both streams are the same file
	out io.Writer
	err io.Writer
}

func newPlain(s Streams) *plain { return &plain{out: s.Out, err: s.Err} }

func (p *plain) Event(lines []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(lines)
	return err
}

func (p *plain) Note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// There is nobody left to tell if stderr fails.
	_, _ = io.WriteString(p.err, trouble.Printable(line)+"\n")
}

func (p *plain) Progress(func() Progress) func() { return func() {} }
func (p *plain) Status(func(int) string)         {}
func (p *plain) Live() bool                      { return false }
func (p *plain) Close()                          {}
