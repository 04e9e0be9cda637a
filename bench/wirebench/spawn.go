package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// serverProcess is this program, started again as the server.
type serverProcess struct {
	endpoint replay.Endpoint
	cmd      *exec.Cmd
	stdin    io.Closer
}

// startServer starts a server of the pods that opts describe. It ends with its
// input, so that it does not outlive this process whatever happens to it.
func startServer(ctx context.Context, opts pods.Options) (*serverProcess, error) {
	cmd, err := self(ctx, "-serve")
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
	if err = json.NewEncoder(stdin).Encode(opts); err == nil {
		err = json.NewDecoder(stdout).Decode(&p.endpoint)
	}
	if err != nil {
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

// serveStdio serves the pods that its input begins by describing until its
// input ends, having said where.
func serveStdio(ctx context.Context) error {
	in := json.NewDecoder(os.Stdin)
	var opts pods.Options
	if err := in.Decode(&opts); err != nil {
		return fmt.Errorf("which pods: %w", err)
	}
	c, err := pods.New(opts)
	if err != nil {
		return err
	}
	s, err := replay.NewServer(c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.Endpoint()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		// Nothing is expected of it but its end.
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return s.Serve(ctx)
}

// measureApart does a job in a process of its own.
func measureApart(ctx context.Context, j *job) (f figures, err error) {
	cmd, err := self(ctx, "-measure")
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	go func() {
		// If the process does not want it, its own error says more.
		_ = json.NewEncoder(stdin).Encode(j)
		stdin.Close()
	}()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("measuring %s: %w", j.Engine, err)
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
