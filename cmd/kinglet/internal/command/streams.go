package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Streams are the ends of a process.
type Streams struct {
	Out, Err io.Writer
	// NoColor is set where the environment has NO_COLOR, or a dumb terminal.
	NoColor bool
}

// terminal returns the terminal that shows stdout, nil if there is none.
func (s Streams) terminal() *os.File {
	f, _ := s.Out.(*os.File)
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// colors reports whether stdout may be coloured.
func (s Streams) colors() bool { return !s.NoColor && s.terminal() != nil }

// width returns the width of the terminal that shows stdout, 0 if there is
// none.
func (s Streams) width() int {
	f := s.terminal()
	if f == nil {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
