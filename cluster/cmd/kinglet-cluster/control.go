package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/cluster"
)

// commandTimeout bounds one command of the control protocol.
const commandTimeout = time.Minute

// event is an answer of the control protocol.
type event struct {
	Event      string            `json:"event"`
	Component  cluster.Component `json:"component,omitempty"`
	Kubeconfig string            `json:"kubeconfig,omitempty"`
	Server     string            `json:"server,omitempty"`
	Dir        string            `json:"dir,omitempty"`
	PID        int               `json:"pid,omitempty"`
	User       string            `json:"user,omitempty"`
	Rate       *float64          `json:"rate,omitempty"`
	Revision   int64             `json:"revision,omitempty"`
	Error      string            `json:"error,omitempty"`
}

var errQuit = errors.New("quit")

// commands are the lines of the program's stdin.
type commands struct {
	lines chan string // closed at the end of stdin
	err   error       // of reading; readable once lines is closed
}

// readCommands reads stdin from now on, and calls ended at its end. Its
// goroutine may outlive the program's work by the one read that it is in; the
// process ends then.
func (p *program) readCommands(ctx context.Context, ended func()) *commands {
	c := &commands{lines: make(chan string)}
	go func() {
		defer ended()
		defer close(c.lines)
		scanner := bufio.NewScanner(p.stdin)
		for scanner.Scan() {
			select {
			case c.lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		c.err = scanner.Err()
	}()
	return c
}

// serveControl announces the cluster and obeys until "quit", the end of stdin
// (whoever held it is gone), the end of ctx, or a component's failure.
func (p *program) serveControl(ctx context.Context, c *cluster.Cluster, in *commands) error {
	out := json.NewEncoder(p.stdout)
	ready := event{Event: "ready", Kubeconfig: c.KubeconfigFile(), Server: c.Server(), Dir: c.Dir(), PID: os.Getpid()}
	if err := out.Encode(ready); err != nil {
		return err
	}
	for {
		select {
		case line, ok := <-in.lines:
			if !ok {
				return in.err
			}
			answer, err := obey(ctx, c, strings.Fields(line))
			if errors.Is(err, errQuit) {
				return nil
			}
			if err != nil {
				answer = event{Event: "error", Error: err.Error()}
			}
			if answer.Event == "" {
				continue
			}
			if err := out.Encode(answer); err != nil {
				return err
			}
		case err := <-p.failed:
			return errors.Join(err, out.Encode(event{Event: "failed", Error: err.Error()}))
		case <-ctx.Done():
			return nil
		}
	}
}

// obey carries out one command. An empty line has an empty answer.
func obey(ctx context.Context, c *cluster.Cluster, words []string) (event, error) {
	if len(words) == 0 {
		return event{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	verb, args := words[0], words[1:]
	want := map[string]int{"stop": 1, "start": 1, "churn": 1, "user": 1, "revoke": 1, "compact": 0,
		"backup": 1, "restore": 2, "quit": 0}
	if n, known := want[verb]; !known {
		return event{}, fmt.Errorf("unknown command %q", verb)
	} else if len(args) != n {
		return event{}, fmt.Errorf("%s takes %d arguments, got %d", verb, n, len(args))
	}
	switch verb {
	case "stop":
		component := cluster.Component(args[0])
		return event{Event: "stopped", Component: component}, c.StopComponent(ctx, component)
	case "start":
		component := cluster.Component(args[0])
		return event{Event: "started", Component: component}, c.StartComponent(ctx, component)
	case "churn":
		rate, err := strconv.ParseFloat(args[0], 64)
		if err != nil {
			return event{}, err
		}
		return event{Event: "churn", Rate: &rate}, c.SetChurn(rate)
	case "user":
		kubeconfig, err := c.AddUser(ctx, args[0])
		return event{Event: "user", User: args[0], Kubeconfig: kubeconfig}, err
	case "revoke":
		return event{Event: "revoked", User: args[0]}, c.RemoveUser(ctx, args[0])
	case "compact":
		revision, err := c.Compact(ctx)
		return event{Event: "compacted", Revision: revision}, err
	case "backup":
		file, err := snapshotFile(c, args[0])
		if err != nil {
			return event{}, err
		}
		revision, err := c.Backup(ctx, file)
		return event{Event: "backup", Revision: revision}, err
	case "restore":
		bump, err := strconv.ParseUint(args[1], 10, 63)
		if err != nil {
			return event{}, err
		}
		file, err := snapshotFile(c, args[0])
		if err != nil {
			return event{}, err
		}
		return event{Event: "restored"}, c.Restore(ctx, file, bump)
	default:
		return event{}, errQuit
	}
}

// snapshotFile is where the snapshot of that name is kept.
func snapshotFile(c *cluster.Cluster, name string) (string, error) {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", fmt.Errorf("%q cannot be the name of a snapshot", name)
	}
	return filepath.Join(c.Dir(), name+".snapshot"), nil
}
