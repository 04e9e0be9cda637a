// Package apart runs the benchmark's own program in another process, so that one engine's
// leftovers are not measured with the next.
package apart

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Measure runs this program with args and returns the JSON document that it prints.
// Its input is in, as JSON, unless in is nil.
func Measure[F any](ctx context.Context, in any, args ...string) (figures F, err error) {
	cmd, err := self(ctx, args)
	if err != nil {
		return figures, err
	}
	if in != nil {
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return figures, err
		}
		go func() {
			// If the process does not read it, the error of the process says more.
			_ = json.NewEncoder(stdin).Encode(in)
			stdin.Close()
		}()
	}
	out, err := cmd.Output()
	if err != nil {
		return figures, err
	}
	return figures, json.Unmarshal(out, &figures)
}

// Server is this program, running as a server in another process.
type Server[E any] struct {
	// At is its address, as the program printed it.
	At    E
	cmd   *exec.Cmd
	stdin io.Closer
}

// Serve runs this program with args as a server, which prints its address as JSON. It ends
// when its input ends, so it cannot outlive this process. The input begins with in, as
// JSON, unless in is nil.
func Serve[E any](ctx context.Context, in any, args ...string) (*Server[E], error) {
	cmd, err := self(ctx, args)
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server[E]{cmd: cmd, stdin: stdin}
	if in != nil {
		err = json.NewEncoder(stdin).Encode(in)
	}
	if err == nil {
		err = json.NewDecoder(stdout).Decode(&s.At)
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("the server said nothing: %w", err)
	}
	return s, nil
}

// Stop ends the server, and returns when it has ended.
func (s *Server[E]) Stop() {
	s.stdin.Close()
	// Its exit code does not matter: it was asked to end.
	_ = s.cmd.Wait()
}

// UntilInputEnds returns a context that ends with ctx, or with the input that Serve
// keeps open.
func UntilInputEnds(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		// The input has nothing to read but its end.
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx
}

func self(ctx context.Context, args []string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}
