package prometheus

import (
	"errors"
	"slices"
	"strconv"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// reasons are those of a change.
var reasons = [...]string{store.Live: "live", store.Initial: "initial", store.Relist: "relist", store.Resync: "resync"}

func reasonOf(r store.Reason) string { return reasons[r] }

// paths are how objects are read.
var paths = [...]string{
	source.PathUnknown: "unknown", source.PathProtobuf: "protobuf", source.PathJSON: "json",
	source.PathClient: "client", source.PathMemory: "memory",
}

// informers serves the informers of the set, and the tables that they share.
func (c *Collector) informers(s *scrape) {
	var used names
	shared := map[uint64]bool{}
	for _, inf := range c.set.Observed() {
		st := inf.Status()
		l := labels{used.unique(st.Name), valid(st.Resource.Group), valid(st.Resource.Version), valid(st.Resource.Resource)}
		c.state(s, &st, l)
		c.counts(s, &st, l)
		c.ownWrites(s, &st, l)
		c.consistency(s, &st, l)
		c.handlers(s, &st, l)
		if c.detailed {
			if st.SharingID != 0 && !shared[st.SharingID] {
				shared[st.SharingID] = true
				c.sharingTable(s, &st)
			}
			if in, ok := inf.(kinglet.Inspectable); ok {
				d := in.Inspect()
				c.details(s, &d, l)
			}
		}
	}
}

// state serves what the informer is doing.
func (c *Collector) state(s *scrape, st *status.Informer, l labels) {
	f := &c.families.informer
	s.problems(f.problem, l, st.Problems(s.now))
	s.time(f.phase, l, st.Since, st.Phase.String())
	s.bool(f.synced, l, st.Synced)
	s.bool(f.degraded, l, st.Degraded)
	s.time(f.lastContact, l, st.LastContact)
	s.time(f.lastEvent, l, st.LastEvent)
	s.gauge(f.objects, l, float64(st.Objects))
	if v, err := strconv.ParseUint(st.ResourceVersion, 10, 64); err == nil {
		s.gauge(f.version, l, float64(v))
	}
	s.gauge(f.quarantined, l, float64(st.Quarantined))
	if p := st.ReadPath; int(p.Path) < len(paths) {
		s.gauge(f.readPath, l, 1, paths[p.Path], reason(p.Why))
	}
	s.gauge(f.received, l, float64(st.Received))
	s.gauge(f.remaining, l, float64(st.Remaining))
	s.gauge(f.bookmarkInterval, l, st.BookmarkInterval.Seconds())
}

// reason is why objects are not read from the wire, as one of a fixed set.
func reason(why error) string {
	var intercept *source.InterceptError
	switch {
	case why == nil:
		return ""
	case errors.Is(why, source.ErrNoInterceptor):
		return "not_asked"
	case errors.Is(why, source.ErrSharingDisabled):
		return "sharing_disabled"
	case errors.As(why, &intercept):
		return "intercept"
	}
	return "type"
}

// problems serves the problems of an informer or a controller. Those with one cause and
// severity, as of two handlers that stand still, are one series: the one that began first.
func (s *scrape) problems(f *family, l labels, problems []status.Problem) {
	for i := range problems {
		p := &problems[i]
		same := func(q status.Problem) bool { return q.Cause == p.Cause && q.Severity == p.Severity }
		if slices.ContainsFunc(problems[:i], same) {
			continue
		}
		since := p.Since
		for _, q := range problems[i+1:] {
			if same(q) && q.Since.Before(since) {
				since = q.Since
			}
		}
		value := 0.0
		if !since.IsZero() {
			value = seconds(since)
		}
		s.gauge(f, l, value, string(p.Cause), p.Severity.String())
	}
}

// counts serves what was requested, received and refused.
func (c *Collector) counts(s *scrape, st *status.Informer, l labels) {
	f := &c.families.informer
	each(s, f.lists, l, st.ListsByCause[:], reflector.ListCause.String)
	each(s, f.watches, l, st.WatchEnds[:], reflector.WatchEnd.String)
	each(s, f.failures, l, st.FailuresByStage[:], status.Stage.String)
	for verb := range st.ErrorsBy {
		each(s, f.errors, l.and(reflector.Verb(verb).String()), st.ErrorsBy[verb][:], reflector.Code.String)
	}
	s.results(f.events, l, result{"added", st.EventsByType.Added}, result{"modified", st.EventsByType.Modified}, result{"deleted", st.EventsByType.Deleted})
	s.counter(f.bookmarks, l, st.Bookmarks)
	s.counter(f.bytes, l, st.Bytes)
	s.counter(f.mutations, l, st.Mutations)
	for verb, n := range [...]uint64{reflector.List: st.Lists, reflector.WatchList: st.Streams, reflector.Watch: st.Watches, reflector.Probe: st.Probes} {
		s.counter(f.requests, l, n, reflector.Verb(verb).String())
	}
	s.counter(f.duplicates, l, st.Duplicates)
	s.counter(f.unreadable, l, st.Unreadable)
	s.counter(f.restores, l, st.Epoch)
}

// ownWrites serves what became of the program's own writes. An informer that was told of
// none has no series.
func (c *Collector) ownWrites(s *scrape, st *status.Informer, l labels) {
	f, w := &c.families.informer, &st.OwnWrites
	if w.Entries == 0 && w.Confirmed+w.Late+w.Expired+w.Dropped == 0 {
		return
	}
	s.gauge(f.ownWrites, l, float64(w.Entries))
	s.time(f.ownWritesOldest, l, w.Oldest)
	s.results(f.ownWritesResult, l, result{"confirmed", w.Confirmed}, result{"late", w.Late},
		result{"expired", w.Expired}, result{"dropped", w.Dropped})
}

// consistency serves what consistency checks did; without checks there are no series.
func (c *Collector) consistency(s *scrape, st *status.Informer, l labels) {
	f, checks := &c.families.informer, &st.Consistency
	if checks.Checks == 0 {
		return
	}
	s.counter(f.differences, l, checks.Differences)
	s.results(f.checks, l, result{"checked", checks.Checks - min(checks.NotChecked, checks.Checks)},
		result{"not_checked", checks.NotChecked})
	s.counter(f.compared, l, checks.Compared)
	s.counter(f.checkSweeps, l, checks.Sweeps)
	s.counter(f.checkRelists, l, checks.Relists)
	s.time(f.lastSeen, l, checks.Last)
}

// result is a count and what it is of.
type result struct {
	value string
	count uint64
}

func (s *scrape) results(f *family, l labels, results ...result) {
	for _, r := range results {
		s.counter(f, l, r.count, r.value)
	}
}

// handlers serves the handlers of an informer.
func (c *Collector) handlers(s *scrape, st *status.Informer, informer labels) {
	f := &c.families.handler
	var used names
	for i := range st.Handlers {
		h := &st.Handlers[i]
		l := informer.and(used.unique(h.Name))
		s.gauge(f.pending, l, float64(h.Pending))
		s.time(f.oldest, l, h.OldestPending)
		s.time(f.call, l, h.CallSince)
		s.counter(f.panics, l, h.Panics)
		s.bool(f.ended, l, h.Err != nil)
		s.bool(f.synced, l, h.Synced)
		s.gauge(f.inFlight, l, float64(h.InFlight))
		s.histogram(f.duration, l, &h.Calls)
		each(s, f.changes, l, h.Changes[:], reasonOf)
		s.counter(f.folds, l, h.Folded)
	}
}

// sharingTable serves a table of shared values, once for all informers that use it.
func (c *Collector) sharingTable(s *scrape, st *status.Informer) {
	f := &c.families.sharing
	l := labels{strconv.FormatUint(st.SharingID, 10)}
	s.gauge(f.bytes, l, float64(st.Sharing.Bytes))
	s.gauge(f.maxBytes, l, float64(st.Sharing.MaxBytes))
	s.gauge(f.values, l, float64(st.Sharing.Values))
	s.counter(f.hits, l, st.Sharing.Hits)
	s.counter(f.misses, l, st.Sharing.Misses)
}

// details serves sizes of the store and of its indexes.
func (c *Collector) details(s *scrape, d *status.Details, l labels) {
	f := &c.families.informer
	if !d.Memory.At.IsZero() {
		s.gauge(f.storeBytes, l, float64(d.Memory.Objects), "objects", "")
		s.gauge(f.storeBytes, l, float64(d.Memory.Keys), "keys", "")
	}
	var used names
	for i := range d.Indexes {
		in := &d.Indexes[i]
		index := used.unique(in.Name)
		s.gauge(f.storeBytes, l, float64(in.Bytes), "index", index)
		s.gauge(f.indexValues, l, float64(in.Values), index)
		s.gauge(f.indexEntries, l, float64(in.Entries), index)
		s.gauge(f.indexLargest, l, float64(in.LargestObjects), index)
	}
}
