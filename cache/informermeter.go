package cache

import "time"

// meter reports what an informer does in metrics. There is no queue between
// its source and its store that could be measured as client-go's is. Instead a
// list, or a batch of events, counts as queued from its arrival until its
// items are in the store and in the queues of the handlers. The time in
// between is the processing latency.
type meter struct {
	queue queueMetrics
	// version returns the store's version. moved is called with it when it has
	// changed.
	version func() string
	moved   func(version string)
	// shown is the resource version that moved was last called with.
	shown string

	// listed is when the list that is not in the store yet was complete.
	listed time.Time
}

// If m is nil, the methods only call what they wrap.

// complete reports a list whose pages have all arrived.
func (m *meter) complete(items int) {
	if m != nil {
		m.listed = time.Now()
		m.queue.show(items)
	}
}

// process reports n items as queued while do runs.
func (m *meter) process(n int, do func() error) error {
	if m == nil {
		return do()
	}
	m.queue.show(n)
	defer m.processed(time.Now())
	return do()
}

// processed reports that the queued items have been processed, since began.
func (m *meter) processed(began time.Time) {
	m.queue.observe(began)
	m.queue.show(0)
	if v := m.version(); v != m.shown {
		m.shown = v
		m.moved(v)
	}
}

// settle reports that the last list is in the store.
func (m *meter) settle() {
	if m != nil && !m.listed.IsZero() {
		m.processed(m.listed)
		m.listed = time.Time{}
	}
}
