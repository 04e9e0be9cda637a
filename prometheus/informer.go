package prometheus

import (
	"errors"
	"strconv"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// ofInformer are the labels of all metrics of an informer.
var ofInformer = []string{"informer", "group", "version", "resource"}

// informers serves the informers of the set, and the tables that they share.
func (c *Collector) informers(s *scrape) {
	var used names
	shared := map[uint64]bool{}
	informers, own := c.set.Observed()
	for k, inf := range informers {
		st := inf.Status()
		l := labels{used.unique(own[k]), valid(st.Resource.Group), valid(st.Resource.Version), valid(st.Resource.Resource)}
		c.informer.serve(s, l, &st)
		var handlers names
		for k := range st.Handlers {
			h := &st.Handlers[k]
			c.handler.serve(s, l.and(handlers.unique(h.Name)), h)
		}
		if !c.detailed {
			continue
		}
		if st.SharingID != 0 && !shared[st.SharingID] {
			shared[st.SharingID] = true
			c.sharing.serve(s, labels{strconv.FormatUint(st.SharingID, 10)}, &st.Sharing)
		}
		if in, ok := inf.(kinglet.Inspectable); ok {
			d := in.Inspect()
			c.details.serve(s, l, &d)
		}
	}
}

func informerMetrics(l *list) *metrics[status.Informer] {
	m := &metrics[status.Informer]{list: l, prefix: "informer_", labels: ofInformer}
	type read = func(series, *status.Informer)
	// An informer that was told of no write, or has no consistency checks, has no series
	// of them.
	ifOwnWrites := func(r read) read {
		return func(s series, i *status.Informer) {
			if w := &i.OwnWrites; w.Entries > 0 || w.Confirmed+w.Late+w.Expired+w.Dropped > 0 {
				r(s, i)
			}
		}
	}
	ifChecked := func(r read) read {
		return func(s series, i *status.Informer) {
			if i.Consistency.Checks > 0 {
				r(s, i)
			}
		}
	}
	m.add(base, gauge, "problem_start_timestamp_seconds",
		"What is wrong with an informer, and since when (0 if that is not known): no series, no problem. Severity broken means that reads are older than they should be, warning that something costs or will cost, note that nothing is lost. The informer's page says what to do about each cause.",
		func(s series, i *status.Informer) { s.problems(i.Problems(s.now)) }, "cause", "severity")
	m.add(base, gauge, "phase_start_timestamp_seconds",
		"When the informer came into the phase that it is in; it has one series. In good order it is Watching. BackingOff for long: look at the problem and at the errors by code.",
		func(s series, i *status.Informer) { s.time(i.Since, i.Phase.String()) }, "phase")
	m.add(base, gauge, "synced",
		"1 once the first list is in the store. While 0, reads miss objects: look at the errors by code.",
		func(s series, i *status.Informer) { s.bool(i.Synced) })
	m.add(base, gauge, "degraded",
		"1 while the store may differ from the server until the list that is under way has come. If it stays 1, lists fail: look at the errors of verb list.",
		func(s series, i *status.Informer) { s.bool(i.Degraded) })
	m.add(base, gauge, "last_contact_timestamp_seconds",
		"When the server was last heard of: a page, an event or a bookmark. Servers send a bookmark about each minute, unless nothing at all is written to their storage: problem_start_timestamp_seconds with cause=silent knows.",
		func(s series, i *status.Informer) { s.time(i.LastContact) })
	m.add(base, gauge, "last_event_timestamp_seconds",
		"When the last event came that was no bookmark. A quiet resource has none for long.",
		func(s series, i *status.Informer) { s.time(i.LastEvent) })
	m.add(base, gauge, "objects",
		"Objects in the store.",
		func(s series, i *status.Informer) { s.gauge(float64(i.Objects)) })
	m.add(base, gauge, "resource_version",
		"The server's resource version that the store has come to; no series where it is no number. Compare replicas by it: one that falls behind lags.",
		func(s series, i *status.Informer) {
			if v, err := strconv.ParseUint(i.ResourceVersion, 10, 64); err == nil {
				s.gauge(float64(v))
			}
		})
	m.add(base, gauge, "quarantined",
		"Keys whose latest version could not be stored: reads show the version before, or none. The informer's page names them and why.",
		func(s series, i *status.Informer) { s.gauge(float64(i.Quarantined)) })
	m.add(base, gauge, "budget_short",
		"Objects of which only metadata is held, since the budget for whole ones is used up. Reads of them cost a request: see what takes so much, or raise the budget.",
		func(s series, i *status.Informer) {
			if i.Budget.Bytes > 0 {
				s.gauge(float64(i.Budget.Short))
			}
		})
	m.add(base, counter, "lists_total",
		"Lists, and watches with initial events, that were begun, by cause. Each but the first costs the server a full read: many of cause expired mean slow watches or a server that compacts early; of cause refused, restored or repair, a server or proxy that does not behave.",
		func(s series, i *status.Informer) { each(s, i.ListsByCause[:], reflector.ListCause.String) }, "cause")
	m.add(base, counter, "watches_total",
		"Watches that have ended, by how. In good order they end as timeout, every 5 to 10 minutes. Many broken or silent ones: look at load balancers, proxies and the network.",
		func(s series, i *status.Informer) { each(s, i.WatchEnds[:], reflector.WatchEnd.String) }, "end")
	m.add(base, counter, "errors_total",
		"Requests that failed. 401 and 403: renew credentials, or grant list and watch. 404: the resource is not served. 429: raise the server's limits for this client. network: look at the way to the server. decode: objects that do not fit the type.",
		func(s series, i *status.Informer) {
			for verb := range i.ErrorsBy {
				each(s.with(reflector.Verb(verb).String()), i.ErrorsBy[verb][:], reflector.Code.String)
			}
		}, "verb", "code")
	m.add(base, counter, "events_total",
		"Events of watches, by type. A flood of modified ones is a writer that writes too often.",
		func(s series, i *status.Informer) {
			s.results(result{"added", i.EventsByType.Added}, result{"modified", i.EventsByType.Modified}, result{"deleted", i.EventsByType.Deleted})
		}, "type")
	m.add(base, counter, "bookmarks_total",
		"Bookmarks received. Without any, a dead connection is found late, and a watch that breaks off may have to list again.",
		func(s series, i *status.Informer) { s.counter(i.Bookmarks) })
	m.add(base, counter, "received_bytes_total",
		"Bytes of answers, as they were read by the decoder.",
		func(s series, i *status.Informer) { s.counter(i.Bytes) })
	m.add(base, counter, "failures_total",
		"Versions of objects that could not be stored, by the stage that refused them. decode: the type does not fit the server's. transform, key, index: the program's own functions failed.",
		func(s series, i *status.Informer) { each(s, i.FailuresByStage[:], status.Stage.String) }, "stage")
	m.add(base, gauge, "read_path_info",
		"Always 1; its labels say how objects are read, and if not by kinglet's own decoder, why: that costs more CPU and memory. A reason other than not_asked, sharing_disabled or inherited_unmarshal was not chosen by the program.",
		func(s series, i *status.Informer) {
			if p := i.ReadPath; int(p.Path) < len(paths) {
				s.gauge(1, paths[p.Path], reason(p.Why))
			}
		}, "path", "reason")
	m.add(base, gauge, "own_writes",
		"The program's own writes that reads include and the watch has not shown yet. If it grows, the watch lags.",
		ifOwnWrites(func(s series, i *status.Informer) { s.gauge(float64(i.OwnWrites.Entries)) }))
	m.add(detailed, gauge, "own_writes_oldest_timestamp_seconds",
		"When the oldest of those writes was recorded.",
		ifOwnWrites(func(s series, i *status.Informer) { s.time(i.OwnWrites.Oldest) }))
	m.add(detailed, counter, "own_writes_total",
		"Own writes by what became of them. Expired and dropped ones were never confirmed by the watch: somebody else overwrote them, or the watch lags by minutes.",
		ifOwnWrites(func(s series, i *status.Informer) {
			w := &i.OwnWrites
			s.results(result{"confirmed", w.Confirmed}, result{"late", w.Late}, result{"expired", w.Expired}, result{"dropped", w.Dropped})
		}), "result")
	m.add(detailed, counter, "consistency_checks_total",
		"Consistency checks by result. If all are not_checked, the last one's reason is on the informer's page.",
		ifChecked(func(s series, i *status.Informer) {
			c := &i.Consistency
			s.results(result{"checked", c.Checks - min(c.NotChecked, c.Checks)}, result{"not_checked", c.NotChecked})
		}), "result")
	m.add(base, counter, "consistency_differences_total",
		"Differences between store and server that consistency checks found. Each is a lost update, by a server, a proxy or kinglet: please report it.",
		func(s series, i *status.Informer) { s.counter(i.Consistency.Differences) }) // 0 before the first check, for increase()
	m.add(base, counter, "mutations_total",
		"Objects of the store in which somebody wrote. It is a bug of the program: copy an object before you change it. The error has the field.",
		func(s series, i *status.Informer) { s.counter(i.Mutations) })
	m.add(detailed, counter, "requests_total",
		"Requests by verb. A list of many pages is as many requests; probe asks for one object, for the server's version.",
		func(s series, i *status.Informer) {
			for verb, n := range [...]uint64{reflector.List: i.Lists, reflector.WatchList: i.Streams, reflector.Watch: i.Watches, reflector.Probe: i.Probes} {
				s.counter(n, reflector.Verb(verb).String())
			}
		}, "verb")
	m.add(detailed, counter, "duplicates_total",
		"Events that changed nothing.",
		func(s series, i *status.Informer) { s.counter(i.Duplicates) })
	m.add(detailed, counter, "unreadable_total",
		"Items whose identity could not be read. Each leads to a list of cause repair.",
		func(s series, i *status.Informer) { s.counter(i.Unreadable) })
	m.add(detailed, counter, "restores_total",
		"How often the server was found to be restored from a backup, or to number anew.",
		func(s series, i *status.Informer) { s.counter(i.Epoch) })
	m.add(detailed, gauge, "list_received_objects",
		"Objects received of the list under way.",
		func(s series, i *status.Informer) { s.gauge(float64(i.Received)) })
	m.add(detailed, gauge, "list_remaining_objects",
		"The server's estimate of how many objects of the list under way are to come; 0 if unknown.",
		func(s series, i *status.Informer) { s.gauge(float64(i.Remaining)) })
	m.add(detailed, gauge, "bookmark_interval_seconds",
		"The pace of the server's bookmarks; 0 until it is known. A watch that is silent for three times as long is given up.",
		func(s series, i *status.Informer) { s.gauge(i.BookmarkInterval.Seconds()) })
	m.add(detailed, counter, "consistency_compared_objects_total",
		"Objects that consistency checks compared with the server's.",
		ifChecked(func(s series, i *status.Informer) { s.counter(i.Consistency.Compared) }))
	m.add(detailed, counter, "consistency_sweeps_total",
		"How often consistency checks came to the end of the collection.",
		ifChecked(func(s series, i *status.Informer) { s.counter(i.Consistency.Sweeps) }))
	m.add(detailed, counter, "consistency_relists_total",
		"Lists because of differences that consistency checks found.",
		ifChecked(func(s series, i *status.Informer) { s.counter(i.Consistency.Relists) }))
	m.add(detailed, gauge, "consistency_last_check_timestamp_seconds",
		"When the last consistency check ended.",
		ifChecked(func(s series, i *status.Informer) { s.time(i.Consistency.Last) }))
	return m
}

// paths are how objects are read.
var paths = [...]string{
	source.PathUnknown: "unknown", source.PathProtobuf: "protobuf", source.PathJSON: "json",
	source.PathClient: "client", source.PathMemory: "memory",
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
	case errors.Is(why, source.ErrInheritedUnmarshal):
		return "inherited_unmarshal"
	case errors.As(why, &intercept):
		return "intercept"
	}
	return "type"
}

// detailMetrics are of what an informer's Inspect returns.
func detailMetrics(l *list) *metrics[status.Details] {
	m := &metrics[status.Details]{list: l, prefix: "informer_", labels: ofInformer}
	m.add(detailed, gauge, "store_bytes",
		"Estimate of the store's memory by part: objects (those that are shared are divided among those that share them), keys, and each index. To save memory, drop fields (kinglet.Options) or indexes.",
		func(s series, d *status.Details) {
			if !d.Memory.At.IsZero() {
				s.gauge(float64(d.Memory.Objects), "objects", "")
				s.gauge(float64(d.Memory.Keys), "keys", "")
			}
			eachIndex(d, func(x *status.Index, name string) { s.gauge(float64(x.Bytes), "index", name) })
		}, "part", "index")
	m.add(detailed, gauge, "index_values",
		"Values of an index.",
		func(s series, d *status.Details) {
			eachIndex(d, func(x *status.Index, name string) { s.gauge(float64(x.Values), name) })
		}, "index")
	m.add(detailed, gauge, "index_entries",
		"Entries of an index: each object as often as it has values.",
		func(s series, d *status.Details) {
			eachIndex(d, func(x *status.Index, name string) { s.gauge(float64(x.Entries), name) })
		}, "index")
	m.add(detailed, gauge, "index_largest_objects",
		"Objects below the value of an index that has most. If it is near the number of objects, the index does not help.",
		func(s series, d *status.Details) {
			eachIndex(d, func(x *status.Index, name string) { s.gauge(float64(x.LargestObjects), name) })
		}, "index")
	return m
}

// eachIndex calls f with each index and its name, which is unique.
func eachIndex(d *status.Details, f func(x *status.Index, name string)) {
	var used names
	for k := range d.Indexes {
		f(&d.Indexes[k], used.unique(d.Indexes[k].Name))
	}
}

// reasons are those of a change.
var reasons = [...]string{store.Live: "live", store.Initial: "initial", store.Relist: "relist", store.Resync: "resync"}

func reasonOf(r store.Reason) string { return reasons[r] }

func handlerMetrics(l *list) *metrics[status.Handler] {
	m := &metrics[status.Handler]{list: l, prefix: "handler_", labels: append(ofInformer[:len(ofInformer):len(ofInformer)], "handler")}
	m.add(detailed, gauge, "synced",
		"1 once the handler has handled its initial list.",
		func(s series, h *status.Handler) { s.bool(h.Synced) })
	m.add(base, gauge, "pending",
		"Changes and objects of the initial list that wait for the handler. If it grows, the handler is too slow: look at its calls. What waits for long is folded: one change a key.",
		func(s series, h *status.Handler) { s.gauge(float64(h.Pending)) })
	m.add(base, gauge, "oldest_pending_timestamp_seconds",
		"Since when the oldest of them has waited; no series if none waits.",
		func(s series, h *status.Handler) { s.time(h.OldestPending) })
	m.add(base, gauge, "call_start_timestamp_seconds",
		"When the handler's call under way began; no series if there is none. If it is old, the handler stands still: the informer's page has its stack.",
		func(s series, h *status.Handler) { s.time(h.CallSince) })
	m.add(detailed, gauge, "ended",
		"1 if the registration has ended with an error, which the informer's page has.",
		func(s series, h *status.Handler) { s.bool(h.Err != nil) })
	m.add(base, counter, "panics_total",
		"Panics of the handler that were recovered: a bug of the program. The error that was reported has the stack.",
		func(s series, h *status.Handler) { s.counter(h.Panics) })
	m.add(detailed, gauge, "in_flight",
		"Changes that the call under way is about.",
		func(s series, h *status.Handler) { s.gauge(float64(h.InFlight)) })
	m.add(detailed, histo, "call_duration_seconds",
		"How long the handler's calls took.",
		func(s series, h *status.Handler) { s.histogram(&h.Calls) })
	m.add(detailed, counter, "changes_total",
		"Changes delivered, by reason. Many of reason relist or resync are floods: look at the lists by cause, or ask for fewer resyncs.",
		func(s series, h *status.Handler) { each(s, h.Changes[:], reasonOf) }, "reason")
	m.add(detailed, counter, "folded_total",
		"Changes that were delivered as part of a later one, since the handler was behind.",
		func(s series, h *status.Handler) { s.counter(h.Folded) })
	return m
}

// sharingMetrics are of a table of shared values, which informers may have in common.
func sharingMetrics(l *list) *metrics[status.Sharing] {
	m := &metrics[status.Sharing]{list: l, prefix: "sharing_", labels: []string{"sharing"}}
	m.add(detailed, gauge, "bytes",
		"What the values and strings take that objects share. Informers of a program share one table, unless they were given one of their own; the label numbers it.",
		func(s series, t *status.Sharing) { s.gauge(float64(t.Bytes)) })
	m.add(detailed, gauge, "max_bytes",
		"How large a table of shared values may get. If it is reached, less is shared: raise it (source.SetDefaultSharing).",
		func(s series, t *status.Sharing) { s.gauge(float64(t.MaxBytes)) })
	m.add(detailed, gauge, "values",
		"Values that are shared.",
		func(s series, t *status.Sharing) { s.gauge(float64(t.Values)) })
	m.add(detailed, counter, "hits_total",
		"Lookups that found a value to share.",
		func(s series, t *status.Sharing) { s.counter(t.Hits) })
	m.add(detailed, counter, "misses_total",
		"Lookups that found none.",
		func(s series, t *status.Sharing) { s.counter(t.Misses) })
	return m
}
