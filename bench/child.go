package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// job is the input of a process that measures one engine in one row.
type job struct {
	Row, Engine string
	Size        size
	// Endpoint is the server's, and Prepared what its answers take, if the row has one.
	Endpoint replay.Endpoint
	Prepared replay.Prepared
	// Kubeconfig is a real control plane's, if the row is about one.
	Kubeconfig string
	// Check compares the store with the server at the end.
	Check bool
	// Profile is a folder for profiles, or empty.
	Profile string

	row *row
}

// measureChild does one job, which comes as input, and prints what it measured.
func measureChild(ctx context.Context, in io.Reader, out io.Writer) error {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("the job cannot be read: %w", err)
	}
	m, err := j.measure(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(m)
}

func (j *job) measure(ctx context.Context) (measure, error) {
	rows := allRows(j.Size)
	for i := range rows {
		if rows[i].name == j.Row {
			j.row = &rows[i]
			return j.row.do(ctx, j)
		}
	}
	return nil, fmt.Errorf("no row %q", j.Row)
}

// measureApart runs a job in a process of its own, so that one engine's garbage is not
// measured with the next.
func measureApart(ctx context.Context, j *job) (m measure, err error) {
	in, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd, err := self(ctx, "-measure")
	if err != nil {
		return nil, err
	}
	cmd.Stdin = strings.NewReader(string(in))
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	return m, json.Unmarshal(out, &m)
}

// phase measures what do costs, with a CPU profile and one of the heap after it if they
// are wanted.
func (j *job) phase(name string, do func() error) (process.Cost, error) {
	if j.Profile == "" {
		return process.Phase(do)
	}
	file := filepath.Join(j.Profile, strings.NewReplacer("/", "-", " ", "-").Replace(j.Row+"-"+j.Engine+"-"+name))
	cpu, err := os.Create(file + "-cpu.prof")
	if err != nil {
		return process.Cost{}, err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return process.Cost{}, err
	}
	cost, err := process.Phase(do)
	pprof.StopCPUProfile()
	if err != nil {
		return cost, err
	}
	heap, err := os.Create(file + "-heap.prof")
	if err != nil {
		return cost, err
	}
	defer heap.Close()
	return cost, pprof.Lookup("heap").WriteTo(heap, 0)
}

// server is this program, running as a server in another process.
type server[E any] struct {
	at    E
	cmd   *exec.Cmd
	stdin io.Closer
}

// serve starts a server of a kind. Its input is in, and stays open: the server ends with
// its input, so it cannot outlive this process. It prints where it is as JSON.
func serve[E any](ctx context.Context, kind string, in any) (*server[E], error) {
	cmd, err := self(ctx, "-serve", kind)
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
	s := &server[E]{cmd: cmd, stdin: stdin}
	if err = json.NewEncoder(stdin).Encode(in); err == nil {
		err = json.NewDecoder(stdout).Decode(&s.at)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	return s, nil
}

// stop returns when the server has ended.
func (s *server[E]) stop() {
	s.stdin.Close()
	// Its exit code does not matter: it was asked to end.
	_ = s.cmd.Wait()
}

// serveChild is what a process that serve started runs.
func serveChild(ctx context.Context, kind string, in io.Reader, out io.Writer) error {
	dec := json.NewDecoder(in)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	untilInputEnds := func() {
		// There is nothing to read but the end.
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}
	if kind == "lagging" {
		go untilInputEnds()
		return serveLagging(ctx, out)
	}
	if kind == "secrets" {
		var have secrets
		if err := dec.Decode(&have); err != nil {
			return fmt.Errorf("the secrets cannot be read: %w", err)
		}
		go untilInputEnds()
		return serveSecrets(ctx, have, out)
	}
	var opts testpods.Options
	if err := dec.Decode(&opts); err != nil {
		return fmt.Errorf("the pods cannot be read: %w", err)
	}
	go untilInputEnds()
	c := testpods.NewCollection(opts)
	s, err := replay.NewServer(c)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(s.Endpoint()); err != nil {
		return err
	}
	return s.Serve(ctx)
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
