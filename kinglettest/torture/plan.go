package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// keys is the number of keys. It is low so that objects are often deleted and created
// again.
const keys = 7

// Plan is determined by a seed: the kind of server, and what happens to it. The faults
// of its answers are those of an apiserver.Plan of the same seed.
type Plan struct {
	Seed uint64
	// Rate is how many of 1,000 requests have a fault.
	Rate int
	// Replicas: requests go to two servers in turn, one of which may lag.
	Replicas bool
	// WithoutWatchList: the server refuses watch-lists.
	WithoutWatchList bool
	ContentType      string
	// Early: the informer is stopped during the steps, and not after everything has
	// settled.
	Early bool
	// Restarts: the storage restarts. Such a plan has no backup.
	Restarts bool
	// Before is the number of writes before the informer runs.
	Before int
	Steps  []Step
}

// Step is one thing that happens. Its random choices depend on the plan's seed and its
// own number alone, so that other steps can be left out.
type Step struct {
	// After is the time since the previous step.
	After time.Duration
	Kind  StepKind
	// N is a number whose meaning depends on Kind.
	N int64
	// Slow is the longest time that a new handler takes for a call.
	Slow time.Duration
}

// StepKind is what a Step does.
type StepKind uint8

// The kinds of steps.
const (
	// Write makes N random writes.
	Write StepKind = iota
	// Disconnect breaks all connections.
	Disconnect
	// Compact compacts all but the last N revisions.
	Compact
	// Skip adds N to the revision, as writes to other resources do.
	Skip
	// Hold makes one of the replicas lag from now on.
	Hold
	// Release ends Hold.
	Release
	// AddHandler adds a handler; N is its kind, see world.addHandler.
	AddHandler
	// Backup saves the state of the storage.
	Backup
	// Restore restores the backup, once in a trial.
	Restore
	// Restart empties the storage and starts its revisions again, once in a trial.
	Restart
)

// String describes the step.
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

// PlanOf returns the plan of a seed.
func PlanOf(seed uint64) Plan {
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := Plan{
		Seed: seed, Rate: 200 + rnd.IntN(500), Replicas: rnd.IntN(2) == 0, WithoutWatchList: rnd.IntN(4) == 0,
		ContentType: []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}[rnd.IntN(2)],
		Early:       rnd.IntN(8) == 0, Before: rnd.IntN(keys),
	}
	// One plan in four has a backup, which may be restored.
	backups := rnd.IntN(4) == 0
	for range 15 + rnd.IntN(25) {
		p.Steps = append(p.Steps, stepOf(rnd, backups))
	}
	// One in six of the others restarts, at a random step.
	if p.Restarts = !backups && rnd.IntN(6) == 0; p.Restarts {
		p.Steps[len(p.Steps)/3+rnd.IntN(len(p.Steps)/2)].Kind = Restart
	}
	return p
}

// stepOf draws one step. Connections break often, since only requests have faults, and
// a watch that lasts is one request.
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

// stalled is the Slow of a handler that does not return until the trial ends.
const stalled = time.Hour

// describe returns a line for each step, numbered from 1. If only is not nil, it leaves
// out the steps that only does not have.
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
