package reflector

import (
	"time"

	"github.com/kinglet-go/kinglet/internal/wallclock"
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
	// ResourceVersion is the version of the sink's state; empty before the first list.
	ResourceVersion string
	// Epoch counts the times that the server was found to be restored.
	Epoch uint64

	// LastError is an *Error; nil once healthy again. While the reflector is Degraded
	// but otherwise healthy, it is the error that made it so.
	LastError     error
	LastErrorTime time.Time
	// FailingSince is the time of the first failure since the last success; zero while
	// healthy.
	FailingSince time.Time
	// Recent is what failed lately. It is kept after the reflector is healthy again.
	Recent RecentErrors
	// Degraded: until a relist the sink may differ from ResourceVersion, because the
	// identity of an object could not be read, Relist was called, or the server
	// restarted its numbering and may have lost objects.
	Degraded bool

	// Received and Remaining describe the list under way: objects so far, and the
	// server's estimate of how many follow, 0 if unknown.
	Received, Remaining int64

	// Bytes read since the start, if the source knows.
	Bytes uint64
	// Lists counts list requests, one per page; Streams counts watches with initial
	// events; Watches counts all other watches.
	Lists, Streams, Watches uint64
	// Probes counts requests for one object, sent to learn the server's version before a
	// watch is resumed.
	Probes uint64
	// Published counts published lists and streams; all but the first are relists.
	Published uint64
	// ListsByCause counts attempts at a list, paged or streamed, by cause. Its sum is
	// Streams plus those of Lists that ask for a first page.
	ListsByCause ListCounts
	// WatchEnds counts how watches ended: every finished one of Watches, and every one
	// of Streams that ended after its initial events.
	WatchEnds WatchEndCounts
	// ErrorsBy counts Errors by verb and by kind of failure.
	ErrorsBy ErrorCounts
	// Events counts received events, including those of streams; Bookmarks counts
	// bookmarks. EventsByType counts events of watches. Duplicates counts those of them
	// that changed nothing, if the sink can tell: see Comparing.
	Events, Bookmarks uint64
	EventsByType      EventCounts
	Duplicates        uint64
	// LastEvent is when the last event other than a bookmark arrived; zero before the
	// first.
	LastEvent time.Time
	// SilentWatches counts watches that were given up before their timeout because
	// nothing arrived for three times BookmarkInterval. Each was followed at once by a
	// watch from the same version.
	SilentWatches uint64
	// BookmarkInterval is how often the server sends bookmarks: the longest of the last
	// 16 to 31 intervals. It is 0 until three intervals were seen; until then a silent
	// watch is not suspected. It is also 0 from when the server was asked, and nothing at all
	// had been written to its storage, until something comes: there is nothing to send a
	// bookmark for.
	BookmarkInterval time.Duration
	// LastContact is when the server last sent a page, an event or a bookmark, or ended a
	// watch without an error; or when a watch was begun that was broken off later. Zero before
	// the first.
	LastContact time.Time
	// Unreadable counts objects whose identity could not be read.
	Unreadable uint64
	// Errors counts reported errors.
	Errors uint64
	// ReadPath is how the source reads objects, and why it uses no faster path. Its Path
	// is source.PathUnknown before the first answer.
	ReadPath source.ReadPath
}

// RecentErrors is what failed lately, whether or not it is over.
type RecentErrors struct {
	// Last is an *Error, the last that was reported; nil if there was none.
	Last     error
	LastTime time.Time
	// Count is how many outages began within the last ten minutes, at most 16, and
	// FirstTime when the first of them began. A request that is retried several times
	// before it succeeds counts once.
	Count     int
	FirstTime time.Time
}

// Status returns what the reflector is doing. It never waits for a request or for the
// sink, and may be called from any goroutine, also before and after Run. While a batch
// is being applied it returns the state before the batch.
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
		BookmarkInterval: time.Duration(s.BookmarkInterval()),
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

// wrap returns f as an *Error that names the failed request.
func (r *Reflector[T]) wrap(f *machine.Failure) error {
	return &Error{
		Name:            r.options.Name,
		Source:          r.source.String(),
		Verb:            f.Request.Verb.String(),
		ResourceVersion: f.Request.Version,
		Continued:       f.Request.Continue != "",
		Answered:        f.Answered,
		Err:             f.Err,
	}
}

// time converts the machine's time to wall-clock time.
func (r *Reflector[T]) time(at machine.Nanos) time.Time {
	return wallclock.At(r.origin, time.Duration(at))
}

// share copies the machine's state to where Status reads it, and calls OnStatus if one
// of the notes changed. It waits for a list that is not published yet, which the machine
// takes for the sink's.
func (d *driver[T]) share() {
	if d.unpublished != nil {
		return
	}
	r := d.reflector
	now := noteworthy(&d.machine.State)
	r.mu.Lock()
	before := noteworthy(&r.state)
	r.state = d.machine.State
	changes := d.machine.Transitions()
	for i := range changes {
		t := &changes[i]
		public := Transition{At: r.time(t.At), From: t.From, To: t.To}
		if t.Failure.Class != machine.NoFailure {
			public.Err = r.wrap(&t.Failure)
		}
		r.history.add(public)
	}
	r.finding.act(now.phase)
	r.mu.Unlock()
	if r.options.OnStatus != nil && now != before {
		r.options.OnStatus(r.describe(&d.machine.State))
	}
}

// notes are the fields whose changes OnStatus reports.
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
