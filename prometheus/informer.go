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

// Labels with a fixed set of values.
var (
	causeLabels  = enum("cause", len(reflector.ListCounts{}), reflector.ListCause.String)
	endLabels    = enum("end", len(reflector.WatchEndCounts{}), reflector.WatchEnd.String)
	verbLabels   = enum("verb", len(reflector.ErrorCounts{}), reflector.Verb.String)
	codeLabels   = enum("code", len(reflector.ErrorCounts{}[0]), reflector.Code.String)
	stageLabels  = enum("stage", len(status.StageCounts{}), status.Stage.String)
	phaseLabels  = enum("phase", int(reflector.Stopped)+1, reflector.Phase.String)
	reasonLabels = []*pair{
		store.Live: label("reason", "live"), store.Initial: label("reason", "initial"),
		store.Relist: label("reason", "relist"), store.Resync: label("reason", "resync"),
	}
	typeLabels = [...]*pair{label("type", "added"), label("type", "modified"), label("type", "deleted")}
	pathLabels = []*pair{
		source.PathUnknown: label("path", "unknown"), source.PathProtobuf: label("path", "protobuf"),
		source.PathJSON:   label("path", "json"),
		source.PathClient: label("path", "client"), source.PathMemory: label("path", "memory"),
	}
	noIndex     = label("index", "")
	partObjects = label("part", "objects")
	partKeys    = label("part", "keys")
	partIndex   = label("part", "index")
)

// informers serves the informers of the set, and the tables that they share.
func (c *Collector) informers(s *scrape) {
	var used names
	shared := map[uint64]bool{}
	for _, inf := range c.set.Observed() {
		st := inf.Status()
		from, name := len(s.metrics), used.unique(st.Name)
		l := s.with(labels{}, s.label("informer", name), s.label("group", st.Resource.Group),
			s.label("version", st.Resource.Version), s.label("resource", st.Resource.Resource))
		c.state(s, &st, l)
		c.counts(s, &st, l)
		c.ownWrites(s, &st, l)
		c.consistency(s, &st, l)
		c.handlers(s, &st, l)
		if c.opts.Detailed {
			if st.SharingID != 0 && !shared[st.SharingID] {
				shared[st.SharingID] = true
				c.sharing(s, &st)
			}
			if in, ok := inf.(kinglet.Inspectable); ok {
				d := in.Inspect()
				c.details(s, &d, l)
			}
		}
		s.belongs(st.Resource.Group, name, from)
	}
}

// state serves what the informer is doing.
func (c *Collector) state(s *scrape, st *status.Informer, l labels) {
	f := &c.families.informer
	s.problems(f.problem, l, st.Problems(s.now))
	if int(st.Phase) < len(phaseLabels) {
		s.time(f.phase, l, st.Since, phaseLabels[st.Phase])
	}
	s.bool(f.synced, l, st.Synced)
	s.bool(f.degraded, l, st.Degraded)
	s.time(f.lastContact, l, st.LastContact)
	s.time(f.lastEvent, l, st.LastEvent)
	s.gauge(f.objects, l, float64(st.Objects))
	if v, err := strconv.ParseUint(st.ResourceVersion, 10, 64); err == nil {
		s.gauge(f.version, l, float64(v))
	}
	s.gauge(f.quarantined, l, float64(st.Quarantined))
	if p := st.ReadPath; int(p.Path) < len(pathLabels) {
		s.gauge(f.readPath, l, 1, pathLabels[p.Path], s.label("reason", reason(p.Why)))
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
		s.gauge(f, l, value, s.label("cause", string(p.Cause)), s.label("severity", p.Severity.String()))
	}
}

// counts serves what was requested, received and refused.
func (c *Collector) counts(s *scrape, st *status.Informer, l labels) {
	f := &c.families.informer
	s.each(f.lists, l, st.ListsByCause[:], causeLabels)
	s.each(f.watches, l, st.WatchEnds[:], endLabels)
	s.each(f.failures, l, st.FailuresByStage[:], stageLabels)
	for verb := range st.ErrorsBy {
		for code, n := range st.ErrorsBy[verb] {
			if n > 0 {
				s.counter(f.errors, l, n, verbLabels[verb], codeLabels[code])
			}
		}
	}
	for i, n := range [...]uint64{st.EventsByType.Added, st.EventsByType.Modified, st.EventsByType.Deleted} {
		s.counter(f.events, l, n, typeLabels[i])
	}
	s.counter(f.bookmarks, l, st.Bookmarks)
	s.counter(f.bytes, l, st.Bytes)
	s.counter(f.mutations, l, st.Mutations)
	if f.requests != nil {
		for verb, n := range [...]uint64{reflector.List: st.Lists, reflector.WatchList: st.Streams, reflector.Watch: st.Watches, reflector.Probe: st.Probes} {
			s.counter(f.requests, l, n, verbLabels[verb])
		}
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
	s.results(f.ownWritesResult, l, "result", result{"confirmed", w.Confirmed}, result{"late", w.Late},
		result{"expired", w.Expired}, result{"dropped", w.Dropped})
}

// consistency serves what consistency checks did; without checks there are no series.
func (c *Collector) consistency(s *scrape, st *status.Informer, l labels) {
	f, checks := &c.families.informer, &st.Consistency
	if checks.Checks == 0 {
		return
	}
	s.counter(f.differences, l, checks.Differences)
	s.results(f.checks, l, "result", result{"checked", checks.Checks - min(checks.NotChecked, checks.Checks)},
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

func (s *scrape) results(f *family, l labels, name string, results ...result) {
	if f == nil {
		return
	}
	for _, r := range results {
		s.counter(f, l, r.count, s.label(name, r.value))
	}
}
