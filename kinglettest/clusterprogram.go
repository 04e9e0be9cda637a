package kinglettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// clusterEvent is one line of the output of kinglet-cluster --control.
type clusterEvent struct {
	Event      string `json:"event"`
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	Revision   int64  `json:"revision"`
	Error      string `json:"error"`
}

// clusterProgram is a running kinglet-cluster.
type clusterProgram struct {
	cmd    *exec.Cmd
	stderr *tail
	events chan clusterEvent // closed when the program has ended
	err    error             // of the program; readable once events is closed

	turn  chan struct{} // holds one token: commands take turns
	stdin io.WriteCloser

	quitOnce sync.Once
	quitErr  error
}

func startProgram(program string, args []string) (*clusterProgram, error) {
	p := &clusterProgram{
		cmd:    exec.Command(program, args...),
		stderr: &tail{},
		events: make(chan clusterEvent),
		turn:   make(chan struct{}, 1),
	}
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(stdout)
	return p, nil
}

// read passes on the events of the program until it has ended.
func (p *clusterProgram) read(stdout io.Reader) {
	defer close(p.events)
	lines := bufio.NewScanner(stdout)
	var bad error
	for lines.Scan() {
		var e clusterEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			bad = errors.Join(bad, fmt.Errorf("said %q: %w", lines.Text(), err))
			continue
		}
		p.events <- e
	}
	p.err = errors.Join(bad, lines.Err(), p.cmd.Wait())
}

// event waits for the next event of the program, and returns its error if it has one.
func (p *clusterProgram) event(ctx context.Context, timeout time.Duration) (clusterEvent, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case e, ok := <-p.events:
		switch {
		case !ok:
			return e, p.errorf("has ended: %v", p.err)
		case e.Error != "":
			return e, p.errorf("said %s: %s", e.Event, e.Error)
		}
		return e, nil
	case <-ctx.Done():
		return clusterEvent{}, p.errorf("said nothing for %v: %w", timeout, ctx.Err())
	}
}

// command sends one command and waits for its answer. After a timeout the answer may still
// come and be taken for another's, so the program is ended.
func (p *clusterProgram) command(line string) (clusterEvent, error) {
	if strings.ContainsAny(line, "\r\n") {
		return clusterEvent{}, fmt.Errorf("a command is one line: %q", line)
	}
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
		return clusterEvent{}, p.errorf("does not take %q: %w", line, err)
	}
	e, err := p.event(context.Background(), commandTimeout)
	if errors.Is(err, context.DeadlineExceeded) {
		return e, errors.Join(err, p.abandon())
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", line, err)
	}
	return e, nil
}

// quit ends the program by closing its stdin, and kills it if it has not ended
// within the timeout. Only the first call does anything.
func (p *clusterProgram) quit(timeout time.Duration) error {
	p.quitOnce.Do(func() {
		_ = p.stdin.Close() // fails only if the program has ended
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		for {
			select {
			case e, ok := <-p.events:
				if ok {
					if e.Error != "" {
						p.quitErr = errors.Join(p.quitErr, errors.New(e.Error))
					}
					continue
				}
				if p.err != nil || p.quitErr != nil {
					p.quitErr = p.errorf("ended badly: %w", errors.Join(p.err, p.quitErr))
				}
			case <-timer.C:
				p.quitErr = p.errorf("has not ended within %v", timeout)
				_ = p.cmd.Process.Kill()
				for range p.events {
				}
			}
			return
		}
	})
	return p.quitErr
}

// abandon ends a program that does not work, which has a few seconds to clean up.
func (p *clusterProgram) abandon() error { return p.quit(abandonTimeout) }

// errorf returns an error with the last lines that the program wrote.
func (p *clusterProgram) errorf(format string, args ...any) error {
	return fmt.Errorf("%s "+format+"%s", append(append([]any{p.cmd.Path}, args...), p.stderr)...)
}

// tailSize is how much of the program's stderr an error shows.
const tailSize = 4 << 10

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte // guarded by mu. Invariant: len(buf) <= 2*tailSize
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-tailSize):]...)
	if len(t.buf) > tailSize {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-tailSize:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.buf) == 0 {
		return ""
	}
	return "\nits stderr ends with:\n" + strings.TrimRight(string(t.buf), "\n")
}
