package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// keys is how many objects there can be at once: few, so that each is deleted
// and created again often.
const keys = 7

// Plan is what a seed stands for: how the server is, and what is done to it.
// The faults of its answers are those of an apiserver.Plan of the same seed.
type Plan struct {
	Seed uint64
	// Rate is how many of 1,000 requests are answered with a fault.
	Rate int
	// Replicas: requests go to two servers in turn, one of which may lag.
	Replicas bool
	// WithoutWatchList: the server refuses watch-lists.
	WithoutWatchList bool
	ContentType      string
	// Early: the informer is stopped in the midst of it all, and not when
	// everything has settled.
	Early bool
	// Restarts: the storage restarts. Such a plan has no backup.
	Restarts bool
	// Before is how many writes there were before the informer ran.
	Before int
	Steps  []Step
}

// Step is one thing that happens. What it does beyond that depends on the
// plan's seed and its own number alone, so that others can be left out.
type Step struct {
	// After is the time since the step before.
	After time.Duration
	Kind  StepKind
	// N is how many, of what can be counted.
	N int64
	// Slow is how long a new handler takes for a call, at most.
	Slow time.Duration
}

// StepKind is what a Step does.
type StepKind uint8

// The kinds of steps.
const (
	// Write makes N random writes.
	Write StepKind = iota
	// Disconnect breaks all connections off.
	Disconnect
	// Compact makes all but the last N revisions a thing of the past.
	Compact
	// Skip lets the revision grow by N, as writes to other resources do.
	Skip
	// Hold lets one of the replicas learn of nothing from now on.
	Hold
	// Release ends Hold.
	Release
	// AddHandler adds a handler; N is its kind, see world.addHandler.
	AddHandler
	// Backup remembers the state of the storage.
	Backup
	// Restore takes the storage back to it, once in a trial.
	Restore
	// Restart has the storage lose everything and number anew, once in a trial.
	Restart
)

// String is the step in words.
func (s Step) String() string {
	after := s.After.Round(time.Millisecond)
	switch s.Kind {
	case Write:
		return fmt.Sprintf("after %v: %d writes", after, s.N)
	case Disconnect:
		return fmt.Sprintf("after %v: all connections break", after)
	case Compact:
		return fmt.Sprintf("after %v: all but %d revisions are compacted", after, s.N)
	case Skip:
		return fmt.Sprintf("after %v: %d revisions of other resources", after, s.N)
	case Hold:
		return fmt.Sprintf("after %v: a replica stands still", after)
	case Release:
		return fmt.Sprintf("after %v: it catches up", after)
	case AddHandler:
		return fmt.Sprintf("after %v: a handler that takes up to %v", after, s.Slow.Round(time.Millisecond))
	case Backup:
		return fmt.Sprintf("after %v: a backup", after)
	case Restart:
		return fmt.Sprintf("after %v: the storage restarts, empty, and numbers anew", after)
	}
	return fmt.Sprintf("after %v: the backup is restored", after)
}

// PlanOf is the plan of a seed.
func PlanOf(seed uint64) Plan {
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := Plan{
		Seed: seed, Rate: 200 + rnd.IntN(500), Replicas: rnd.IntN(2) == 0, WithoutWatchList: rnd.IntN(4) == 0,
		ContentType: []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}[rnd.IntN(2)],
		Early:       rnd.IntN(8) == 0, Before: rnd.IntN(keys),
	}
	// One plan in four has a backup, and is restored from it or not.
	backups := rnd.IntN(4) == 0
	for range 15 + rnd.IntN(25) {
		p.Steps = append(p.Steps, stepOf(rnd, backups))
	}
	// One in six of the others restarts, somewhere in the midst of it.
	if p.Restarts = !backups && rnd.IntN(6) == 0; p.Restarts {
		p.Steps[len(p.Steps)/3+rnd.IntN(len(p.Steps)/2)].Kind = Restart
	}
	return p
}

// stepOf draws one step. Connections break often, since it is requests that
// have faults, and a watch that holds is but one.
func stepOf(rnd *rand.Rand, backups bool) Step {
	s := Step{After: time.Duration(rnd.Int64N(int64(6 * time.Second)))}
	if rnd.IntN(30) == 0 {
		s.After = time.Duration(rnd.Int64N(int64(8 * time.Minute))) // watches end by themselves
	}
	switch n := rnd.IntN(100); {
	case n < 50:
		s.Kind, s.N = Write, 1+rnd.Int64N(3)
		if rnd.IntN(8) == 0 {
			s.N = 5 + rnd.Int64N(20)
		}
	case n < 74:
		s.Kind = Disconnect
	case n < 79:
		s.Kind, s.N = Compact, rnd.Int64N(5)
	case n < 83:
		s.Kind, s.N = Skip, 1+rnd.Int64N(50)
	case n < 87:
		s.Kind = Hold
	case n < 91:
		s.Kind = Release
	case n < 94 && backups:
		s.Kind = Backup
	case n < 96 && backups:
		s.Kind = Restore
	default:
		s.Kind, s.N = AddHandler, rnd.Int64N(3)
		s.Slow = []time.Duration{0, time.Second, 4 * time.Second, stalled}[rnd.IntN(4)]
	}
	return s
}

// stalled is how slow a handler is that does not return until all is over.
const stalled = time.Hour

// describe is the plan in words, a line for each step, numbered from 1. Those
// that only, if it is not nil, does not have are left out.
func (p *Plan) describe(only map[int]bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s, %d of 1,000 requests with a fault", p.Seed, p.ContentType, p.Rate)
	for _, is := range []struct {
		so   bool
		what string
	}{{p.Replicas, "two replicas"}, {p.WithoutWatchList, "no watch-lists"}, {p.Restarts, "restarts"}, {p.Early, "stopped early"}} {
		if is.so {
			b.WriteString(", " + is.what)
		}
	}
	fmt.Fprintf(&b, ", %d writes before\n", p.Before)
	for i, s := range p.Steps {
		if only == nil || only[i+1] {
			fmt.Fprintf(&b, "  step %d %v\n", i+1, s)
		}
	}
	return b.String()
}
