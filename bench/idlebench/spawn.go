package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"strconv"
)

// Endpoint is where the server is and by what it is known.
type Endpoint struct {
	URL string
	CA  []byte
}

type serverProcess struct {
	Endpoint
	cmd   *exec.Cmd
	stdin io.Closer
}

// startServer starts this program as a server. It ends with its input, so
// that it does not outlive this process whatever happens to it.
func startServer(ctx context.Context, o *options) (*serverProcess, error) {
	cmd, err := self(ctx, "-serve", "-objects", strconv.Itoa(o.objects))
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
	p := &serverProcess{cmd: cmd, stdin: stdin}
	if err := json.NewDecoder(stdout).Decode(&p.Endpoint); err != nil {
		p.stop()
		return nil, fmt.Errorf("the server said nothing: %w", err)
	}
	return p, nil
}

func (p *serverProcess) stop() {
	p.stdin.Close()
	// Whatever it ended with, it was told to.
	_ = p.cmd.Wait()
}

// measureApart measures one side in a process of its own.
func measureApart(ctx context.Context, o *options, side string, at Endpoint, profile string) (f Footprint, err error) {
	cmd, err := self(ctx, "-measure", side, "-n", strconv.Itoa(o.n), "-objects", strconv.Itoa(o.objects),
		"-settle", o.settle.String(), "-profile", profile)
	if err != nil {
		return f, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return f, err
	}
	go func() {
		// If the process does not want it, its own error says more.
		_ = json.NewEncoder(stdin).Encode(at)
		stdin.Close()
	}()
	out, err := cmd.Output()
	if err != nil {
		return f, fmt.Errorf("measuring %s: %w", side, err)
	}
	return f, json.Unmarshal(out, &f)
}

func self(ctx context.Context, args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
