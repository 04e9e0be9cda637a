package cache

import "time"

// meter shows what an informer does in metrics. Between its source and its
// store is no queue that could be measured as client-go's is. What stands for
// one is what came together, a list or the events of a batch: its items are
// queued from when they have come until they are in the store and in the
// queues of the handlers, and the time in between is the processing latency.
type meter struct {
	queue queueMetrics
	// version returns the store's version, and moved is called with it when it
	// has changed.
	version func() string
	moved   func(version string)
	// shown is the last version that moved was called with.
	shown string

	// listed is when a list was complete that has yet to enter the store.
	listed time.Time
}

// All methods do nothing more than what they wrap where m is nil.

// complete shows a list of which all pages have come.
func (m *meter) complete(items int) {
	if m != nil {
		m.listed = time.Now()
		m.queue.show(items)
	}
}

// process shows what do does to n items.
func (m *meter) process(n int, do func() error) error {
	if m == nil {
		return do()
	}
	m.queue.show(n)
	defer m.processed(time.Now())
	return do()
}

// processed shows that what was queued is processed, since began.
func (m *meter) processed(began time.Time) {
	m.queue.observe(began)
	m.queue.show(0)
	if v := m.version(); v != m.shown {
		m.shown = v
		m.moved(v)
	}
}

// settle shows that the list that came last is in the store.
func (m *meter) settle() {
	if m != nil && !m.listed.IsZero() {
		m.processed(m.listed)
		m.listed = time.Time{}
	}
}
