package prometheus

import (
	"strconv"

	"github.com/kinglet-go/kinglet/status"
)

// handlers serves the handlers of an informer.
func (c *Collector) handlers(s *scrape, st *status.Informer, informer labels) {
	f := &c.families.handler
	var used names
	for i := range st.Handlers {
		h := &st.Handlers[i]
		l := s.with(informer, s.label("handler", used.unique(h.Name)))
		s.gauge(f.pending, l, float64(h.Pending))
		s.time(f.oldest, l, h.OldestPending)
		s.time(f.call, l, h.CallSince)
		s.counter(f.panics, l, h.Panics)
		s.bool(f.ended, l, h.Err != nil)
		s.bool(f.synced, l, h.Synced)
		s.gauge(f.inFlight, l, float64(h.InFlight))
		s.histogram(f.duration, l, &h.Calls)
		s.each(f.changes, l, h.Changes[:], reasonLabels)
		s.counter(f.folds, l, h.Folded)
	}
}

// sharing serves a table of shared values, once for all informers that use it.
func (c *Collector) sharing(s *scrape, st *status.Informer) {
	f := &c.families.sharing
	l := s.with(labels{}, s.label("sharing", strconv.FormatUint(st.SharingID, 10)))
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
		s.gauge(f.storeBytes, l, float64(d.Memory.Objects), partObjects, noIndex)
		s.gauge(f.storeBytes, l, float64(d.Memory.Keys), partKeys, noIndex)
	}
	var used names
	for i := range d.Indexes {
		in := &d.Indexes[i]
		index := s.label("index", used.unique(in.Name))
		s.gauge(f.storeBytes, l, float64(in.Bytes), partIndex, index)
		of := s.with(l, index)
		s.gauge(f.indexValues, of, float64(in.Values))
		s.gauge(f.indexEntries, of, float64(in.Entries))
		s.gauge(f.indexLargest, of, float64(in.LargestObjects))
	}
}
