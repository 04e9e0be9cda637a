package follow

import (
	"io"
	"sync"

	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
)

// Output is where events, on stdout, and notes, on stderr, go. Both may end on one terminal,
// so only one is written at a time. Its methods are safe for concurrent use.
type Output struct {
	mu       sync.Mutex
	out, err io.Writer
}

// NewOutput returns the Output for stdout and stderr.
func NewOutput(out, err io.Writer) *Output { return &Output{out: out, err: err} }

// Event writes whole lines to stdout. The error is stdout's.
func (o *Output) Event(lines []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.out.Write(lines)
	return err
}

// Note writes one line for the person to stderr, as trouble.Printable has it: it may
// have a server's words.
func (o *Output) Note(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	// There is nobody left to tell if stderr fails.
	_, _ = io.WriteString(o.err, trouble.Printable(line)+"\n")
}
