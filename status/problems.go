package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
	"github.com/kinglet-go/kinglet/reflector"
)

// The bounds between normal and problematic. On a page that is refreshed every 2 s,
// what lasts for slow is seen within 5 s.
const (
	// slow is how long a handler's call, or a change's wait for a handler, may
	// take.
	slow = 3 * time.Second
	// passing is how long a failure that often passes is only a Warning, if the store
	// can be read meanwhile.
	passing = 30 * time.Second
	// unanswered is the same while a new watch is under way. One that is answered says so in
	// less.
	unanswered = 5 * time.Minute
	// recently is how long a past failure is reported. flapping is how many failures
	// within ten minutes are a Warning.
	recently = 5 * time.Minute
	flapping = 5
	// lateBookmark is by how much a bookmark may be late.
	lateBookmark = 5 * time.Second
	// longList is how long a first list may take, longWait how long keys may wait for
	// a worker, and own writes for the watch. longRun is how long a run may last: some
	// wait for minutes for what they made.
	longList = time.Minute
	longWait = 30 * time.Second
	longRun  = 10 * time.Minute
)

// Problems returns what is wrong with the informer, the worst first; nothing if all
// is well. It is a pure function of i and now, and costs a microsecond if all is
// well.
func (i *Informer) Problems(now time.Time) []Problem {
	p := finder{now: now}
	i.source(&p)
	i.watch(&p)
	i.content(&p)
	for h := range i.Handlers {
		handler(&p, &i.Handlers[h])
	}
	i.readPath(&p)
	i.recent(&p) // after the present problems
	return p.sorted()
}

// finder gathers problems.
type finder struct {
	now   time.Time
	found []Problem
}

func (p *finder) add(s Severity, c Cause, since time.Time, what, do string) {
	p.found = append(p.found, Problem{Severity: s, Cause: c, Since: since, What: what, Do: do})
}

// sorted returns the worst first; equals stay in the order in which they were found.
func (p *finder) sorted() []Problem {
	slices.SortStableFunc(p.found, func(a, b Problem) int { return cmp.Compare(b.Severity, a.Severity) })
	return p.found
}

// of returns the usual name of the watched resource, such as deployments.apps; the
// informer's name if the source does not report the resource.
func (i *Informer) of() string {
	if i.Resource.Resource == "" {
		return i.Name
	}
	return i.Resource.GroupResource().String()
}

// source finds problems of requests, and of first lists.
func (i *Informer) source(p *finder) {
	switch {
	case i.Phase == reflector.Stopped:
		p.add(Note, CauseStopped, i.Since, "it has stopped: reads stay as they are", "nothing, if the program is ending")
	case i.failing():
		i.failure(p)
	case !i.Synced:
		i.notSynced(p)
	}
	if i.Synced && (i.Phase == reflector.Listing || i.Phase == reflector.Streaming) {
		p.add(Note, CauseRelisting, i.Since, "it lists everything again: "+i.progress(), "nothing: reads have the state of before until it is done")
	}
}

// failing reports whether the last request failed. If it did not, LastError says what
// was lost, if anything.
func (i *Informer) failing() bool {
	return i.LastError != nil && (!i.Degraded || !i.FailingSince.IsZero())
}

// failedSince returns FailingSince or, in a status without it, LastErrorTime.
func (i *Informer) failedSince() time.Time {
	if i.FailingSince.IsZero() {
		return i.LastErrorTime
	}
	return i.FailingSince
}

func (i *Informer) failure(p *finder) {
	err := i.LastError
	if r := &i.Recent; r.Last != nil && r.LastTime.After(i.LastErrorTime) {
		err = r.Last // a failure that was retried at once
	}
	kind := trouble.Classify(err)
	since, severity := i.failedSince(), Broken
	if i.Synced && !kind.Lasting() && p.now.Sub(since) < passing {
		severity = Warning
	}
	what, do := i.describe(kind, err), trouble.Remedy(kind, err, i.of())
	// The answer to the request after a failure is its first event or bookmark, which
	// may take a minute; a refusal comes at once.
	asked := p.now.Sub(i.Since)
	if i.LastErrorTime.After(i.Since) {
		asked = p.now.Sub(i.LastErrorTime) // a watch was followed by one at once
	}
	if i.Phase == reflector.Watching && asked > lateBookmark {
		if i.Synced && p.now.Sub(since) < unanswered {
			severity = Warning
		}
		what += "; a new watch was begun " + quantity.Duration(asked) + " ago, and nothing came on it yet"
		do = "wait for the first event or bookmark, which comes within a minute even if nothing changes; if none does: " + do
	}
	p.add(severity, Cause(kind.String()), since, what, do)
}

// ErrorText returns an error's text, in one line. If the objects may be Secrets, it has none
// that may be content.
func (i *Informer) ErrorText(err error) string {
	if i.Secrets {
		return i.describe(trouble.Classify(err), err)
	}
	return trouble.Line(err)
}

func (i *Informer) describe(kind trouble.Kind, err error) string {
	return trouble.DescribeOf(kind, err, i.Secrets)
}

func (i *Informer) notSynced(p *finder) {
	if i.Phase == reflector.Starting {
		p.add(Note, CauseNotSynced, time.Time{}, "it was not started", "call Run, or add it to a Set that runs")
		return
	}
	severity := Note
	if p.now.Sub(i.Since) > longList {
		severity = Warning
	}
	p.add(severity, CauseNotSynced, i.Since, "the first list is under way: "+i.progress(),
		"wait; if it takes long, ask for less: a namespace, a selector, Options.Drop")
}

func (i *Informer) progress() string {
	if i.Remaining > 0 {
		return fmt.Sprintf("%d of about %d objects", i.Received, i.Received+i.Remaining)
	}
	return fmt.Sprintf("%d objects so far", i.Received)
}

// recent finds failures that are over.
func (i *Informer) recent(p *finder) {
	r := &i.Recent
	if i.failing() || r.Last == nil || p.now.Sub(r.LastTime) > recently || i.Degraded {
		return
	}
	kind := trouble.Classify(r.Last)
	what, do := i.describe(kind, r.Last), trouble.Remedy(kind, r.Last, i.of())
	if r.Count >= flapping {
		p.add(Warning, Cause(kind.String()), r.FirstTime,
			fmt.Sprintf("it fails again and again, %d times within ten minutes; the last one, %s ago, is over: %s", r.Count, quantity.Duration(p.now.Sub(r.LastTime)), what), do)
		return
	}
	if kind != trouble.Restored { // after a restore the program must be checked
		do = "nothing; if it comes again: " + do
	}
	p.found = append(p.found, Problem{Severity: Note, Cause: Cause(kind.String()), Since: r.LastTime,
		What: "this is over: " + what, Do: do, Over: true})
}

// watch finds watches that do not fail but are behind.
func (i *Informer) watch(p *finder) {
	if i.Phase == reflector.Watching && i.BookmarkInterval > 0 && !i.failing() {
		// The interval is the longest of many, so this bookmark is missing.
		if silent := p.now.Sub(i.LastContact); silent > i.BookmarkInterval+lateBookmark {
			p.add(Warning, CauseSilent, i.LastContact,
				fmt.Sprintf("nothing came on the watch for %s, and the server sends a bookmark every %s", quantity.Duration(silent), quantity.Duration(i.BookmarkInterval)),
				"kinglet begins a new watch after three intervals; if it repeats, look at what is between this program and the API server")
		}
	}
}

// content finds problems of what the store holds.
func (i *Informer) content(p *finder) {
	if i.Degraded {
		i.degraded(p)
	}
	if i.Quarantined > 0 {
		i.quarantine(p)
	}
	if b := &i.Budget; b.Short > 0 {
		p.add(Warning, CauseBudget, b.Since,
			fmt.Sprintf("of %s only metadata is held: whole objects take %s of the budget of %s", quantity.Of(int64(b.Short), "object"), quantity.Bytes(b.Used), quantity.Bytes(b.Bytes)),
			"Get reads them from the server; see what takes so much, or raise the Budget, and they become whole")
	}
	if c := &i.Consistency; c.Differences > 0 {
		severity := Note
		if p.now.Sub(c.LastDifference) < 2*recently {
			severity = Warning
		}
		p.add(severity, CauseInconsistent, c.LastDifference,
			fmt.Sprintf("consistency checks found %s between the store and the server", quantity.Of(int64(c.Differences), "difference")),
			"see the reports in the log; kinglet lists again unless ReportOnly is set; report it as a bug")
	}
	if c := &i.Consistency; c.LastNotChecked != nil && c.NotChecked == c.Checks && !i.failing() {
		p.add(Note, CauseNotChecked, c.Last, "no consistency check could compare anything: "+i.ErrorText(c.LastNotChecked), "see docs/guarantees.md for what a check needs of the server")
	}
	if i.Mutations > 0 {
		p.add(Warning, CauseMutated, time.Time{}, "the program wrote into "+quantity.Of(int64(i.Mutations), "stored object")+", which are read-only and share memory",
			"see the *MutationError in the log, which names the field; copy an object before you change it")
	}
	if w := &i.OwnWrites; w.Entries > 0 && p.now.Sub(w.Oldest) > longWait {
		p.add(Warning, CauseUnconfirmedWrites, w.Oldest, "the watch has not shown "+quantity.Of(int64(w.Entries), "write")+" of this program",
			"see whether the informer's selectors cover what was written, and whether its watch is well")
	}
	if w := &i.OwnWrites; w.Expired+w.Dropped > 0 {
		p.add(Note, CauseUnconfirmedWrites, time.Time{}, quantity.Of(int64(w.Expired+w.Dropped), "write")+" of this program were never confirmed: reads may have been older than they",
			"see the *UnconfirmedWriteError in the log")
	}
}

func (i *Informer) degraded(p *finder) {
	if i.LastError == nil || i.failing() {
		p.add(Warning, CauseDegraded, i.LastErrorTime, "the store may differ from the server until the next list", "nothing: kinglet lists again")
		return
	}
	kind, cause := trouble.Classify(i.LastError), CauseDegraded
	if errors.Is(i.LastError, reflector.ErrRestored) || errors.Is(i.LastError, reflector.ErrOutOfOrder) {
		cause = CauseRestored
	}
	p.add(Warning, cause, i.LastErrorTime, "the store may differ from the server until the next list: "+i.describe(kind, i.LastError), "nothing: kinglet lists again")
}

// quarantine finds objects that could not be stored. Those there are now are not counted by
// stage, so a stage is named only if objects were refused at no other.
func (i *Informer) quarantine(p *finder) {
	at, do := "", "unfold the informer: under Quarantine are the keys, and each has the stage and the reason"
	for s, n := range i.FailuresByStage {
		var only StageCounts
		if only[s] = n; n == 0 || i.FailuresByStage != only {
			continue
		}
		at = " (" + Stage(s).String() + ")"
		switch Stage(s) {
		case StageDecode:
			do += "; mend the object, or the type that this program decodes it into"
		case StageTransform, StageKey, StageIndex:
			do += "; mend the function of this program that refuses it"
		}
	}
	p.add(Warning, CauseQuarantine, i.QuarantinedSince,
		quantity.Of(int64(i.Quarantined), "object")+" could not be stored"+at+": reads have an older version of them, or none", do)
}

func (i *Informer) readPath(p *finder) {
	if !i.ReadPath.Lost() {
		return
	}
	p.add(Note, CauseReadPath, i.ReadPath.Since, "objects are read by "+i.ReadPath.Path.String()+", not by kinglet's own decoder: "+trouble.Line(i.ReadPath.Why),
		"it costs CPU and memory only; the reason says what stands in the way")
}

// handler finds the problems of one handler.
func handler(p *finder, h *Handler) {
	inCall, waits := p.now.Sub(h.CallSince), p.now.Sub(h.OldestPending)
	switch {
	case h.Err != nil:
		p.add(Warning, CauseHandlerEnded, time.Time{}, handlerName(h)+" has ended: "+trouble.Line(h.Err), "add it again once the reason is gone")
	case !h.CallSince.IsZero() && inCall > slow:
		p.add(Warning, CauseHandlerStalled, h.CallSince,
			fmt.Sprintf("%s has been in one call for %s; %s", handlerName(h), quantity.Duration(inCall), waiting(h.Pending)),
			"unfold the informer and ask for the stack of its handler: it waits for something, or does too much in one call")
	case !h.OldestPending.IsZero() && waits > slow:
		p.add(Warning, CauseHandlerBehind, h.OldestPending,
			fmt.Sprintf("%s is behind: %s, the oldest for %s", handlerName(h), waiting(h.Pending), quantity.Duration(waits)),
			"see how long its calls take: make them faster, or only put keys into a queue")
	}
	if h.Panics > 0 {
		p.panicked(CauseHandlerPanics, h.LastPanic, handlerName(h)+" panicked "+times(h.Panics)+"; what it was called with is lost to it", "see the stack in the log")
	}
}

// panicked adds a problem of panics, the last of which may be long ago.
func (p *finder) panicked(c Cause, last time.Time, what, do string) {
	severity := Warning
	if !last.IsZero() && p.now.Sub(last) > recently {
		severity = Note
	}
	p.found = append(p.found, Problem{Severity: severity, Cause: c, Since: last, What: what, Do: do, Over: !last.IsZero()})
}

func handlerName(h *Handler) string {
	if h.Name == "" {
		return "a handler"
	}
	return "handler " + h.Name
}

func waiting(n int) string {
	if n == 1 {
		return "1 change waits"
	}
	return quantity.Of(int64(n), "change") + " wait"
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
