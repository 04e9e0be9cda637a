package machine

import "fmt"

// tally is the naive twin of what is counted by cause, end, verb and code: it counts
// requests as they are sent and end, from effects alone.
type tally struct {
	lists, continued, followed uint64
	errors                     uint64
	// cause is why the list under way, or due, was asked for.
	cause ListCause
}

// check is wrong if a step counted anything else than it did.
func (y *tally) check(before *State, in Input, after *State, effects []Effect) error {
	for _, e := range effects {
		switch {
		case e.Kind == Report:
			y.errors++
		case e.Kind == List && e.Request.Verb == VerbList && e.Request.Continue != "":
			y.continued++
		case e.Kind == List && e.Request.Verb == VerbList, e.Kind == Watch && e.Request.Verb == VerbStream:
			y.lists++
		}
	}
	if before.Request.Verb == VerbStream && after.Request.Verb == VerbWatch {
		y.followed++
	}
	c := &after.Counts
	causes, ends, errors := sum(c.ListsByCause[:]), sum(c.WatchEnds[:]), uint64(0)
	for verb := range c.Errors {
		errors += sum(c.Errors[verb][:])
	}
	underWay := uint64(0)
	if after.Request.Verb == VerbWatch {
		underWay = 1
	}
	switch {
	case causes != y.lists || causes != c.Streams+c.Lists-y.continued:
		return fmt.Errorf("%d causes of %d lists", causes, y.lists)
	case ends+underWay != c.Watches+y.followed:
		return fmt.Errorf("%d ends of %d watches", ends, c.Watches+y.followed)
	case errors != y.errors || errors != c.Failures:
		return fmt.Errorf("%d errors counted of %d reported", errors, y.errors)
	case c.Added+c.Modified+c.Deleted > c.Events:
		return fmt.Errorf("more events of watches than events")
	case c.Events > before.Counts.Events && after.LastEvent != in.At,
		c.Events == before.Counts.Events && after.LastEvent != before.LastEvent:
		return fmt.Errorf("the last event is of %v", after.LastEvent)
	}
	return y.checkCause(before, in, after)
}

// checkCause is wrong if a list is counted under another cause than what ended the
// watch that came before it.
func (y *tally) checkCause(before *State, in Input, after *State) error {
	listing := after.Phase == Listing || after.Phase == Streaming || after.Phase == BackingOff && after.Relist
	if before.Phase == Watching && listing {
		y.cause = reason(before, in, after)
	}
	if before.Phase == BackingOff && !before.Relist && listing {
		y.cause = CauseRestored // nothing else is due after a watch's wait
	}
	if before.Phase == Stopped && !before.Relist && listing {
		y.cause = dueAfter(before)
	}
	counted := before.Counts.ListsByCause
	counted[y.cause] = after.Counts.ListsByCause[y.cause]
	if counted != after.Counts.ListsByCause {
		return fmt.Errorf("%v lists counted of cause %v, had %v", after.Counts.ListsByCause, y.cause, before.Counts.ListsByCause)
	}
	return nil
}

// reason is why a watch, or a probe, is followed by a list.
func reason(before *State, in Input, after *State) ListCause {
	ended := in.Kind == Ended || in.Kind == Event && in.Event == Error
	switch f := in.Failure.Class; {
	case before.Request.Verb == VerbProbe && after.Older > before.Older:
		return CauseRestored
	case in.Kind == RelistDue && !(before.missed() && (before.Doubtful || !before.Degraded())) ||
		in.Kind == Differs && !((before.Renumbered || before.missed()) && inRow(before, in)):
		return after.Heal.List
	case ended && before.Request.Verb == VerbWatch && f == Expired:
		return CauseExpired
	case ended && before.Request.Verb == VerbWatch && f == NotFound:
		return CauseNotFound
	case ended && before.Request.Verb == VerbWatch && f == StoreRead, in.Kind == Event && in.Event == Error && f == Foreign:
		return CauseRepair
	case after.Refusals > before.Refusals && (after.Refusals > 1 || !after.hasHistory()):
		return CauseRefused
	case before.Request.Verb == VerbProbe && in.Kind != RelistDue && in.Kind != Differs:
		return CauseRestored
	case after.Missed && !before.Renumbered:
		return CauseRefused
	}
	return dueAfter(before) // whatever ended the watch
}

// dueAfter is why a list follows a watch.
func dueAfter(before *State) ListCause {
	if before.missed() && !before.Renumbered {
		return CauseRefused
	}
	return CauseRestored
}

// inRow is whether lists are in a row when in comes.
func inRow(before *State, in Input) bool {
	m := Machine{State: *before, config: testConfig(), now: in.At}
	return m.inRow()
}

func sum(counts []uint64) (total uint64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// moved is wrong if a change of phase is not among the transitions, or one is that
// there was not.
func (w *world) moved(before, after *State) error {
	from := before.Phase
	for _, t := range w.m.Transitions() {
		if t.From != from || t.To == t.From || t.At < before.Since {
			return fmt.Errorf("a transition from %v to %v at %v, in %v", t.From, t.To, t.At, from)
		}
		if t.Failure.Class != NoFailure && t.Failure.Request.Verb == NoRequest {
			return fmt.Errorf("a transition to %v with %+v, of no request", t.To, t.Failure)
		}
		if t.To == BackingOff && t.Failure.Class == NoFailure {
			return fmt.Errorf("backing off without a reason")
		}
		from = t.To
	}
	if from != after.Phase {
		return fmt.Errorf("transitions lead to %v, the phase is %v", from, after.Phase)
	}
	return nil
}
