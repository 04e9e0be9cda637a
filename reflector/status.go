package reflector

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
)

// Phase is what a reflector is doing.
type Phase = machine.Phase

// The phases.
const (
	// Starting: Run has not begun.
	Starting = machine.Starting
	// Listing: fetching a list page by page.
	Listing = machine.Listing
	// Streaming: receiving the initial events of a watch.
	Streaming = machine.Streaming
	// Watching: following the server.
	Watching = machine.Watching
	// BackingOff: waiting after a failure.
	BackingOff = machine.BackingOff
	// Stopped: Run is over.
	Stopped = machine.Stopped
)

// Status is what a reflector is doing and how it has fared. It is a copy.
type Status struct {
	Phase Phase
	// Since is when the phase began.
	Since time.Time

	// Synced is whether the sink was given a list.
	Synced bool
	// ResourceVersion is what the sink's state equals; empty before the first list.
	ResourceVersion string
	// Epoch counts the times that the server was found to be restored.
	Epoch uint64

	// LastError is an *Error; nil once healthy again. While Degraded and
	// otherwise healthy it says what was lost.
	LastError     error
	LastErrorTime time.Time
	// FailingSince is when the first of the failures was that nothing good has
	// followed; zero while healthy.
	FailingSince time.Time
	// Recent is what failed lately, also once healthy again.
	Recent RecentErrors
	// Degraded: the sink may differ from ResourceVersion until a relist, since
	// something came whose identity could not be read, since Relist was called,
	// or since the server numbers anew and may have lost objects.
	Degraded bool

	// Received and Remaining are about the list under way: objects so far,
	// and the server's estimate of how many are to come, 0 if unknown.
	Received, Remaining int64

	// Bytes read since the start, where the source can know.
	Bytes uint64
	// Lists are list requests, one a page; Streams are watches with initial
	// events; Watches are the other ones.
	Lists, Streams, Watches uint64
	// Probes are requests for one object, sent for the server's version before
	// a watch is resumed.
	Probes uint64
	// Published lists and streams; all but the first are relists.
	Published uint64
	// ListsByCause counts attempts at a list, in pages or streamed, by why one was
	// due: together they are Streams and those of Lists that ask for a first page.
	ListsByCause ListCounts
	// WatchEnds counts how watches ended, with those that streams have become: each
	// Watch that is over, and each of Streams that ended after its initial events.
	WatchEnds WatchEndCounts
	// ErrorsBy counts Errors by what was asked for and what failed.
	ErrorsBy ErrorCounts
	// Events received, those of streams included, and Bookmarks. EventsByType are
	// those of watches. Duplicates are such of them as changed nothing, where the sink
	// can tell: see Comparing.
	Events, Bookmarks uint64
	EventsByType      EventCounts
	Duplicates        uint64
	// LastEvent is when the last event came that was no bookmark; zero before the
	// first.
	LastEvent time.Time
	// SilentWatches were given up before their timeout, because nothing came
	// on them for three times as long as BookmarkInterval; a watch from the
	// same version followed each at once.
	SilentWatches uint64
	// BookmarkInterval is the pace at which the server sends bookmarks: the
	// longest of the last 16 to 31 intervals. 0 until three were seen; a
	// silent watch means nothing as long.
	BookmarkInterval time.Duration
	// LastContact is when the server was last heard of: a page, an event or a
	// bookmark came. Zero before the first.
	LastContact time.Time
	// Unreadable is how often something came whose identity could not be
	// read.
	Unreadable uint64
	// Errors reported.
	Errors uint64
	// ReadPath is how the source reads objects, and why not faster. Its Path is
	// source.PathUnknown before the first answer.
	ReadPath source.ReadPath
}

// RecentErrors is what failed lately, whether or not it is over.
type RecentErrors struct {
	// Last is an *Error, the last that was reported; nil if there was none.
	Last     error
	LastTime time.Time
	// Count is how many times something began to fail within the last ten minutes, at
	// most 16, and FirstTime when the first of them was. A request that is tried several
	// times before it succeeds counts once.
	Count     int
	FirstTime time.Time
}

// Status returns what the reflector is doing. It never waits for a request or
// for the sink, and may be called from any goroutine, also before and after
// Run. While a batch is being applied it tells the state before the batch.
func (r *Reflector[T]) Status() Status {
	r.mu.Lock()
	s := r.state
	r.mu.Unlock()
	return r.describe(&s)
}

func (r *Reflector[T]) describe(s *machine.State) Status {
	status := Status{
		Phase:            s.Phase,
		Since:            r.time(s.Since),
		Synced:           s.Synced,
		ResourceVersion:  s.Version,
		Epoch:            s.Epoch,
		Degraded:         s.Degraded(),
		Received:         s.List.Received,
		Remaining:        s.List.Remaining,
		Bytes:            s.Counts.Bytes,
		Lists:            s.Counts.Lists,
		Streams:          s.Counts.Streams,
		Watches:          s.Counts.Watches,
		Probes:           s.Counts.Probes,
		Published:        s.Counts.Published,
		ListsByCause:     s.Counts.ListsByCause,
		WatchEnds:        s.Counts.WatchEnds,
		ErrorsBy:         s.Counts.Errors,
		Events:           s.Counts.Events,
		EventsByType:     EventCounts{s.Counts.Added, s.Counts.Modified, s.Counts.Deleted},
		Bookmarks:        s.Counts.Bookmarks,
		SilentWatches:    s.Counts.SilentWatches,
		BookmarkInterval: time.Duration(s.Cadence.Interval()),
		Unreadable:       s.Counts.Unreadable,
		Errors:           s.Counts.Failures,
		ReadPath:         r.readPath(),
	}
	if !s.Synced {
		status.ResourceVersion = ""
	}
	if s.Contact != 0 {
		status.LastContact = r.time(s.Contact)
	}
	if s.LastEvent != 0 {
		status.LastEvent = r.time(s.LastEvent)
	}
	if c, ok := r.sink.(Comparing); ok {
		status.Duplicates = c.Duplicates()
	}
	if s.Failure.Class != machine.NoFailure {
		status.FailingSince = r.time(s.FailingSince)
	}
	if recent := &s.Recent.Last; recent.Class != machine.NoFailure {
		status.Recent = RecentErrors{Last: r.wrap(recent), LastTime: r.time(recent.At)}
		n, first := s.Recent.Count(machine.Nanos(time.Since(r.origin)))
		if status.Recent.Count = n; n > 0 {
			status.Recent.FirstTime = r.time(first)
		}
	}
	last := &s.Failure
	if last.Class == machine.NoFailure {
		last = &s.Heal.Cause
	}
	if last.Class != machine.NoFailure {
		status.LastError = r.wrap(last)
		status.LastErrorTime = r.time(last.At)
	}
	return status
}

// wrap names the request that failed.
func (r *Reflector[T]) wrap(f *machine.Failure) error {
	return &Error{
		Name:            r.options.Name,
		Source:          r.source.String(),
		Verb:            f.Request.Verb.String(),
		ResourceVersion: f.Request.Version,
		Continued:       f.Request.Continue != "",
		Err:             f.Err,
	}
}

func (r *Reflector[T]) transition(t *machine.Transition) Transition {
	public := Transition{At: r.time(t.At), From: t.From, To: t.To}
	if t.Failure.Class != machine.NoFailure {
		public.Err = r.wrap(&t.Failure)
	}
	return public
}

// time turns the machine's time into the world's.
func (r *Reflector[T]) time(at machine.Nanos) time.Time {
	return r.origin.Add(time.Duration(at))
}

// share makes the machine's state the one that Status reads, and tells
// OnStatus if it is worth it.
func (d *driver[T]) share() {
	r := d.reflector
	now := noteworthy(&d.machine.State)
	r.mu.Lock()
	before := noteworthy(&r.state)
	r.state = d.machine.State
	changes := d.machine.Transitions()
	for i := range changes {
		r.history.add(r.transition(&changes[i]))
	}
	r.finding.act(now.phase)
	r.mu.Unlock()
	if r.options.Tracer != nil {
		for i := range changes {
			r.options.Tracer.PhaseChanges(r.options.Name, r.transition(&changes[i]))
		}
	}
	if r.options.OnStatus != nil && now != before {
		r.options.OnStatus(r.describe(&d.machine.State))
	}
}

// notes are what OnStatus tells the changes of.
type notes struct {
	phase    Phase
	since    machine.Nanos
	synced   bool
	epoch    uint64
	degraded bool
	failed   machine.Class
	failures uint64
	silent   uint64
}

func noteworthy(s *machine.State) notes {
	return notes{s.Phase, s.Since, s.Synced, s.Epoch, s.Degraded(), s.Failure.Class, s.Counts.Failures,
		s.Counts.SilentWatches}
}
