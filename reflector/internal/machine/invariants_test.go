package machine

import (
	"fmt"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// What must hold after each input, whatever came before.

// inOrder is wrong if an event of a watch is not applied as it arrived, if its
// version has any other consequence than a report, or if versions that were
// found to have no order are trusted again without a list.
func inOrder(before *State, in Input, after *State, effects []Effect) error {
	published, reported, applied := false, 0, false
	for _, e := range effects {
		published = published || e.Kind == Publish
		applied = applied || e.Kind == Apply || e.Kind == Advance
		if e.Kind == Report && e.Failure.Err == OutOfOrder {
			reported++
		}
	}
	if before.Unordered && !after.Unordered && !published || before.Renumbered && !after.Renumbered && !published {
		return fmt.Errorf("in order again without a list")
	}
	object := in.Kind == Event && in.Event <= Deleted
	if before.Request.Verb != VerbWatch || !object && (in.Kind != Event || in.Event != Bookmark) {
		if reported > 0 {
			return fmt.Errorf("out of order without an event")
		}
		return nil
	}
	synthetic := before.Synthetic && in.Event == Added
	order, ok := resourceversion.Compare(in.Version, before.Version)
	back := !synthetic && ok && order < 0
	want := before.Version
	if !synthetic && in.Version != "" {
		want = in.Version
	}
	switch {
	case object && !applied:
		return fmt.Errorf("an event was not applied")
	case after.Version != want:
		return fmt.Errorf("the version is %s, not that of the event", after.Version)
	case after.Phase != Watching || after.Request != before.Request:
		return fmt.Errorf("a watch did not outlive its event")
	case (back && !before.Unordered) != (reported > 0) || reported > 1:
		return fmt.Errorf("%d reports of being out of order", reported)
	case after.Renumbered != (before.Renumbered || reported > 0 && before.Resumed && !before.Advanced):
		return fmt.Errorf("renumbered: %v", after.Renumbered)
	case after.Unordered != (before.Unordered || reported > 0 && before.Renumbered == after.Renumbered):
		return fmt.Errorf("unordered: %v", after.Unordered)
	}
	return nil
}

// inDoubt is wrong if a watch is resumed from a version of which the server has
// shown no sign for a while, without a probe; if that watch may be silent for
// long; or if a probe is sent for any other reason, or comes to nothing.
func (w *world) inDoubt(before *State, in Input, effects []Effect) error {
	after := &w.m.State
	useful := after.Synced && !after.Unordered && resourceversion.Ordered(after.Version) &&
		!(before.Probe.Costly || after.Probe.Costly)
	fresh := after.Probe.Sign > in.At-signLasts
	if after.Doubtful && (!after.Degraded() || !after.Unordered || after.Doubts > maxDoubts) {
		return fmt.Errorf("doubtful without a reason")
	}
	for _, e := range effects {
		switch {
		case e.Kind == List && e.Request.Verb == VerbProbe && !after.Doubtful &&
			(!after.Synced || after.Unordered || !resourceversion.Ordered(after.Version)):
			return fmt.Errorf("a probe that cannot be compared with %q", after.Version)
		case e.Kind == List && e.Request.Verb == VerbProbe && e.Request.NotOlderThan &&
			(before.Request.Verb != VerbProbe || before.Request.NotOlderThan):
			return fmt.Errorf("a second probe without a first one")
		case e.Kind == List && e.Request.Verb == VerbProbe && fresh && !after.Doubtful:
			return fmt.Errorf("a probe %v after a sign", duration(in.At-after.Probe.Sign))
		case e.Kind != Watch || e.Request.Verb != VerbWatch || !after.Resumed || before.Request.Verb == VerbProbe:
		case useful && !fresh:
			return fmt.Errorf("a watch %v after the last sign", duration(in.At-after.Probe.Sign))
		case useful && !(e.IdleTimeout > 0 && e.IdleTimeout <= signLasts):
			return fmt.Errorf("a watch without a sign that may be silent for %v", duration(e.IdleTimeout))
		}
	}
	if before.Request.Verb != VerbProbe || after.Request.Verb != VerbWatch {
		return nil
	}
	answer := before.Probe.Version
	if in.Kind == Page {
		answer = in.Version
	}
	if before.Doubtful {
		order, ok := resourceversion.Compare(answer, before.Listed)
		// A difference that a consistency check found meanwhile leads to a list as well.
		listed := in.Kind == Differs && after.Heal.Scheduled
		if ok && order != 0 && !after.Doubtful && !listed {
			return fmt.Errorf("a watch of a server at %s after a list at %s", answer, before.Listed)
		}
		return nil
	}
	switch order, ok := resourceversion.Compare(answer, after.Version); {
	case in.Kind != Page && (in.Kind != Ended || in.Failure.Class != NoFailure):
	case in.Kind == Ended && !before.Probe.Answered && after.hasHistory() && before.Probe.Broken < probeAttempts-1:
		return fmt.Errorf("a watch after a probe that was not answered")
	case ok && order < 0 && !(answer == before.Listed && before.Request.NotOlderThan):
		return fmt.Errorf("a watch of a server that is older than the store")
	}
	return nil
}

// relistReason is wrong if a synced machine begins to list without a reason.
func relistReason(before *State, in Input, after *State) error {
	listing := after.Phase == Listing || after.Phase == Streaming || after.Phase == BackingOff && after.Relist
	if before.Phase != Watching || !listing {
		return nil
	}
	switch f := in.Failure.Class; {
	case f == Expired || f == StoreRead || f == NotFound:
	case in.Kind == Event && in.Event == Error && f == Foreign:
	case after.Refusals > before.Refusals && (after.Refusals > 1 || !after.hasHistory()):
	case before.Request.Verb == VerbProbe && after.Older > before.Older:
	case before.Request.Verb == VerbProbe && before.Doubtful:
	case in.Kind == RelistDue && before.Degraded():
	case in.Kind == Differs && !inRow(before, in):
	case before.missed() && in.Kind == RelistDue:
	case (before.Renumbered || before.missed() || after.Missed) && (in.Kind == Ended || in.Kind == TimedOut || in.Kind == Event && in.Event == Error || in.Kind == Differs):
	default:
		return fmt.Errorf("a relist without a reason")
	}
	return nil
}

// check carries out one effect as a driver would.
func (w *world) check(before *State, in Input, e Effect) error {
	c := w.m.config
	switch e.Kind {
	case List, Watch:
		if w.requested || w.waiting {
			return fmt.Errorf("a second request, or one during a wait")
		}
		w.requested = true
		w.hasty++
		if e.Request.Continue != "" && (e.Request.Version != "" || e.Request.NotOlderThan) {
			return fmt.Errorf("a continued list with a version")
		}
		if e.Timeout <= 0 {
			return fmt.Errorf("unlimited patience")
		}
		if err := w.checkIdle(before, e); err != nil {
			return err
		}
	case SetTimeouts:
		if err := w.checkIdle(before, e); err != nil {
			return err
		}
	case Wait:
		if w.requested || w.waiting {
			return fmt.Errorf("a wait during a request or another wait")
		}
		w.waiting = true
		spread := e.Max - e.Min
		if spread < c.BackoffMin || spread > c.BackoffMax || e.Min < spread || e.Min > max(spread, maxRetryAfter) {
			return fmt.Errorf("waits %v", between(e))
		}
		paced := w.m.Relist && w.m.Backoff.Lists > 1 && e.Min <= c.BackoffMax
		if in.Failure.RetryAfter == 0 && e.Min != spread && !paced {
			return fmt.Errorf("waits %v without being asked to", between(e))
		}
	case Abandon:
		if !w.requested {
			return fmt.Errorf("nothing to abandon")
		}
		w.requested = false
	case Stage, Restage, Unstage:
		if before.Phase != Listing && before.Phase != Streaming {
			return fmt.Errorf("stages while %v", before.Phase)
		}
		w.staged = true
	case Discard:
		if !w.staged {
			return fmt.Errorf("nothing to discard")
		}
		w.staged = false
	case Publish:
		w.staged = false
		order, ok := resourceversion.Compare(e.Version, before.Version)
		older := before.Synced && !before.Unordered && ok && order < 0
		if (older || before.Renumbered) != e.Epoch {
			return fmt.Errorf("publishes %s over %s", e.Version, before.Version)
		}
		if older && before.OlderConsistent < consistentRetries {
			return fmt.Errorf("a new epoch after %d consistent lists", before.OlderConsistent)
		}
	case RelistAfter:
		w.relistIn = e.Min
	case Apply, Advance:
		if before.Phase != Watching {
			return fmt.Errorf("applies while %v", before.Phase)
		}
	}
	return nil
}

// checkIdle is wrong if a watch may be silent for too short, for ever although
// the server's pace is known, or for any time although it is not.
func (w *world) checkIdle(before *State, e Effect) error {
	watching := e.Kind == SetTimeouts || e.Request.Verb == VerbWatch
	known := watching && w.m.Cadence.Intervals >= cadenceLearned
	if watching && (before.Probe.Unsure || w.m.Probe.Unsure) && e.IdleTimeout == signLasts {
		return nil
	}
	if known != (e.IdleTimeout > 0) || known && e.IdleTimeout < max(minIdleTimeout, idleIntervals*w.m.Cadence.Interval()) {
		return fmt.Errorf("idle for %v with %+v", e.IdleTimeout, w.m.Cadence)
	}
	return nil
}
