package status

import (
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
)

// Problems returns what is wrong with the controller, the worst first; nothing if all
// is well. It is a pure function of c and now.
func (c *Controller) Problems(now time.Time) []Problem {
	p := finder{now: now}
	if !c.GateOpen {
		what := "no run may begin"
		if c.GateReason != "" {
			what += ": " + c.GateReason
		}
		severity, cause, do := Note, CauseGateClosed, "nothing, if the program has just begun, or ends; else see what the gate waits for"
		switch {
		case c.GateErr != nil:
			severity, do = c.cannotLead(now)
		case c.Gate == GateElection:
			do = "nothing, if another replica leads"
		case c.Gate == GateEnded:
			severity, cause = Broken, CauseGateEnded
			do = "see why it ended, and restart the program: an informer runs once; Remove the Watch if the controller can do without it"
		}
		since := c.GateSince
		if c.GateErr != nil {
			since = c.GateErrSince // a standby may have waited for days
		}
		p.add(severity, cause, since, what, do)
	}
	if waits := now.Sub(c.OldestQueued); c.GateOpen && !c.OldestQueued.IsZero() && waits > longWait {
		severity := Warning
		what := fmt.Sprintf("%d keys wait for a worker, the oldest for %s; ", c.Queued, quantity.Duration(waits))
		if c.Workers > 0 {
			what += fmt.Sprintf("%d of %d workers run", c.Running, c.Workers)
		} else {
			what += fmt.Sprintf("%d run", c.Running)
		}
		do := "see which keys run, and for how long; if all workers are of use, set more of them"
		if c.Running == 0 {
			severity = Broken
		}
		p.add(severity, CauseQueueBehind, c.OldestQueued, what, do)
	}
	if lasts := now.Sub(c.OldestRun); !c.OldestRun.IsZero() && lasts > longRun {
		what := fmt.Sprintf("the oldest of %s has lasted for %s", quantity.Of(int64(c.Running), "run"), quantity.Duration(lasts))
		if c.Again > 0 {
			what += fmt.Sprintf("; %s changed since", quantity.Of(int64(c.Again), "running key"))
		}
		p.add(Warning, CauseRunStalled, c.OldestRun, what, "see which key runs for that long, and where its goroutine waits; set Options.Timeout, and end the run when its context ends")
	}
	if c.Failing > 0 {
		what, do := quantity.Of(int64(c.Failing), "key")+" failed when last run", "see the failing keys, and the error of each"
		if c.FailedForGood > 0 {
			what += fmt.Sprintf("; %d of them with an error that is not tried again", c.FailedForGood)
			do += "; a key that is not tried again runs when it changes"
		}
		p.add(Warning, CauseFailingKeys, time.Time{}, what, do)
	}
	if len(c.Hot) > 0 {
		p.add(Warning, CauseHotKeys, time.Time{},
			fmt.Sprintf("%s more than ten times within a minute, the hottest %d times", runs(len(c.Hot)), c.Hot[0].Runs),
			"see what each runs for: a run that changes what it watches runs again")
	}
	if c.Unmapped > 0 {
		p.add(Warning, CauseUnmapped, time.Time{}, quantity.Of(int64(c.Unmapped), "change")+" could not be mapped to keys", "see the error of the map function in the log")
	}
	if c.Panicked > 0 {
		p.panicked(CauseRunPanics, c.LastPanic, "runs panicked "+times(c.Panicked), "see the stack in the log; the key is tried again")
	}
	return p.sorted()
}

// cannotLead returns how bad it is that this replica cannot lead, and what to do.
func (c *Controller) cannotLead(now time.Time) (Severity, string) {
	kind := trouble.Classify(c.GateErr)
	severity := Warning
	if kind.Lasting() || now.Sub(c.GateErrSince) > passing {
		severity = Broken
	}
	if kind == trouble.Forbidden {
		return severity, "grant this program's user get, create and update on leases.coordination.k8s.io in the namespace of the Lease"
	}
	return severity, trouble.Remedy(kind, c.GateErr, "leases.coordination.k8s.io")
}

func runs(n int) string {
	if n == 1 {
		return "1 key runs"
	}
	return fmt.Sprintf("%d keys run", n)
}
