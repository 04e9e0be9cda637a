package prometheus

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	core "github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/status"
)

// seriesKey has the values of a family's labels, in the family's order.
type seriesKey [4]string

func (k seriesKey) labels(s *scrape, f *family) labels {
	pairs := make([]*pair, len(f.labels))
	for i, name := range f.labels {
		pairs[i] = s.label(name, k[i])
	}
	return s.with(labels{}, pairs...)
}

// live has series that live as long as their reporters. It points to them weakly, so no
// queue, reflector or informer has to announce its end, and no series can leak.
// The zero value is empty.
type live[T any] struct {
	mu     sync.Mutex
	series map[seriesKey][]reporter[T] // guarded by mu
	// added counts those since the last pruning, which left kept. Guarded by mu.
	added, kept int
}

type reporter[T any] struct {
	metric weak.Pointer[T]
	// current is false once nothing is to be served any more; nil is always.
	current func() bool
}

// add returns a new metric, which the caller reports to and keeps alive.
func (l *live[T]) add(key seriesKey, current func() bool) *T {
	for i := range key {
		key[i] = valid(key[i])
	}
	metric := new(T)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.series == nil {
		l.series = map[seriesKey][]reporter[T]{}
	}
	// Without scrapes it may be as many again as there are before they are looked at.
	if l.added++; l.added > 16+l.kept {
		l.pruneLocked(nil)
	}
	l.series[key] = append(l.series[key], reporter[T]{weak.Make(metric), current})
	return metric
}

// pruneLocked forgets series that have ended, and calls each, if not nil, with the rest.
func (l *live[T]) pruneLocked(each func(key seriesKey, metrics []*T)) {
	l.added, l.kept = 0, 0
	for key, reporters := range l.series {
		var metrics []*T
		kept := reporters[:0]
		for _, r := range reporters {
			if m := r.metric.Value(); m != nil && (r.current == nil || r.current()) {
				kept, metrics = append(kept, r), append(metrics, m)
			}
		}
		clear(reporters[len(kept):])
		if len(kept) == 0 {
			delete(l.series, key)
			continue
		}
		l.series[key] = kept
		l.kept += len(kept)
		if each != nil {
			each(key, metrics)
		}
	}
}

// collect calls serve for each series of f with the metrics that it is made of, and
// returns the keys.
func (l *live[T]) collect(serve func(l labels, of []*T), s *scrape, f *family) map[seriesKey]bool {
	current := map[seriesKey][]*T{}
	l.mu.Lock()
	l.pruneLocked(func(key seriesKey, metrics []*T) { current[key] = metrics })
	l.mu.Unlock()
	keys := make(map[seriesKey]bool, len(current))
	for key, metrics := range current {
		keys[key] = true
		serve(key.labels(s, f), metrics)
	}
	return keys
}

// value is a gauge or a counter.
type value struct {
	bits atomic.Uint64
	// The runtime packs what is smaller than 16 bytes into blocks that live as long as
	// any of their parts: a weak pointer would not notice the end.
	_ [8]byte
}

func (v *value) Set(to float64) { v.bits.Store(math.Float64bits(to)) }
func (v *value) Inc()           { v.add(1) }
func (v *value) Dec()           { v.add(-1) }
func (v *value) get() float64   { return math.Float64frombits(v.bits.Load()) }

func (v *value) add(d float64) {
	for {
		old := v.bits.Load()
		if v.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+d)) {
			return
		}
	}
}

func total(of []*value) (sum float64) {
	for _, v := range of {
		sum += v.get()
	}
	return sum
}

func most(of []*value) float64 {
	out := of[0].get()
	for _, v := range of[1:] {
		out = max(out, v.get())
	}
	return out
}

// durations is a histogram of seconds.
type durations struct{ histogram core.Histogram }

func (d *durations) Observe(seconds float64) {
	d.histogram.Observe(time.Duration(min(seconds, math.MaxInt64/2e9) * 1e9))
}

func merged(of []*durations) *status.Histogram {
	var all status.Histogram
	for _, d := range of {
		h := d.histogram.Snapshot()
		all.Sum += h.Sum
		for i, n := range h.Counts {
			all.Counts[i] += n
		}
	}
	return &all
}

// sum is a summary without quantiles.
type sum struct {
	value
	count atomic.Uint64
}

func (s *sum) Observe(v float64) {
	s.add(v)
	s.count.Add(1)
}

func (s *scrape) sums(f *family, l labels, of []*sum) {
	var all float64
	var count uint64
	for _, one := range of {
		all += one.get()
		count += one.count.Load()
	}
	s.summary(f, l, all, count)
}
