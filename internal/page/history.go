package page

import (
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/status"
)

const (
	// sampleEvery and samples make ten minutes.
	sampleEvery = 5 * time.Second
	samples     = 120
	// lookedFor is how long samples are taken after the last request of the page.
	lookedFor = sampleEvery * samples
)

// history has the samples of the last ten minutes of each informer. Samples are taken
// only while the page is in use.
type history struct {
	read func() []status.Informer

	mu sync.Mutex
	// looked is when the page was last requested; guarded by mu, as all below.
	looked time.Time
	timer  *time.Timer // nil while no samples are taken
	at     time.Time   // of the last sample
	rings  map[string]*ring
}

// ring has the samples of one informer, the last one at next-1.
type ring struct {
	rate, pending [samples]float32
	next, count   int
	events        uint64
	last          time.Time
}

// look records a request of the page. The first request takes the first sample.
func (h *history) look(now time.Time, informers []status.Informer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looked = now
	if h.timer == nil {
		h.rings = map[string]*ring{}
		h.sampleLocked(now, informers)
		h.timer = time.AfterFunc(sampleEvery, h.tick)
	}
}

// tick takes a sample if the page was requested recently. Otherwise it forgets all
// samples.
func (h *history) tick() {
	informers := h.read()
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.looked) > lookedFor {
		h.timer, h.rings = nil, nil
		return
	}
	h.sampleLocked(now, informers)
	h.timer.Reset(sampleEvery)
}

func (h *history) sampleLocked(now time.Time, informers []status.Informer) {
	h.at = now
	for k, name := range status.Names(informers) {
		r := h.rings[name]
		if r == nil {
			r = &ring{}
			h.rings[name] = r
		}
		r.add(now, &informers[k])
	}
	for name, r := range h.rings {
		if r.last != now {
			delete(h.rings, name) // it is gone
		}
	}
}

func (r *ring) add(now time.Time, i *status.Informer) {
	var rate float32
	if seconds := now.Sub(r.last).Seconds(); !r.last.IsZero() && seconds > 0 && i.Events >= r.events {
		rate = float32(float64(i.Events-r.events) / seconds)
	}
	r.events, r.last = i.Events, now
	pending, _ := pendingOf(i)
	r.rate[r.next], r.pending[r.next] = rate, float32(pending)
	r.next = (r.next + 1) % samples
	r.count = min(r.count+1, samples)
}

// series returns the samples of one kind, oldest first.
func (r *ring) series(of *[samples]float32) []float32 {
	out := make([]float32, 0, r.count)
	for k := range r.count {
		out = append(out, of[(r.next-r.count+k+samples)%samples])
	}
	return out
}

// copyOf returns a copy of an informer's samples, nil if there are none.
func (h *history) copyOf(name string) *ring {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rings[name]
	if r == nil {
		return nil
	}
	c := *r
	return &c
}

// rates returns the rates of several informers, oldest first.
func (h *history) rates(names []string) [][]float32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([][]float32, len(names))
	for k, name := range names {
		if r := h.rings[name]; r != nil {
			out[k] = r.series(&r.rate)
		}
	}
	return out
}

// pendingOf returns how many changes wait for all handlers of an informer, and since
// when the oldest of them has waited.
func pendingOf(i *status.Informer) (n int, oldest time.Time) {
	for k := range i.Handlers {
		h := &i.Handlers[k]
		n += h.Pending
		if !h.OldestPending.IsZero() && (oldest.IsZero() || h.OldestPending.Before(oldest)) {
			oldest = h.OldestPending
		}
	}
	return n, oldest
}
