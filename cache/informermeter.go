package cache

import (
	"context"
	"time"

	"github.com/kinglet-go/kinglet/source"
)

// meter shows what an informer does in metrics. Between its source and its
// store is no queue that could be measured as client-go's is. What stands for
// one is what came together, a list or the events of a batch: its items are
// queued from when they have come until they are in the store and in the
// queues of the handlers, and the time in between is the processing latency.
type meter struct {
	queue queueMetrics
	// version is what the store has come to, and moved is told of it.
	version func() string
	moved   func(version string)
	// shown is the last version that moved was told.
	shown string

	// listed is when a list was complete that has yet to enter the store.
	listed time.Time
	// items are those of the list that is under way.
	items int
}

// over returns src with what it brings shown by m. Its calls are made one
// after the other.
func (m *meter) over(src source.Source[any]) source.Source[any] {
	return &measuredSource{Source: src, meter: m}
}

// process shows what do does to n items.
func (m *meter) process(n int, do func() error) error {
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
	if !m.listed.IsZero() {
		m.processed(m.listed)
		m.listed = time.Time{}
	}
}

type measuredSource struct {
	source.Source[any]
	meter *meter
}

var _ source.Sampler[any] = (*measuredSource)(nil)

// WatchListUnsupported passes on what the source says.
func (s *measuredSource) WatchListUnsupported() bool {
	asked, ok := s.Source.(source.WatchListUnsupported)
	return ok && asked.WatchListUnsupported()
}

// Sample implements source.Sampler. What it brings enters no store.
func (s *measuredSource) Sample(ctx context.Context, req source.SampleRequest, yield func(source.Page[any]) error) error {
	return source.Sample(ctx, s.Source, req, yield)
}

// List implements source.Source. A list enters the store after its last page
// was returned, and before the reflector asks for anything else.
func (s *measuredSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	m := s.meter
	m.settle()
	if req.Continue == "" {
		m.items = 0
	}
	last := false
	err := s.Source.List(ctx, req, func(page source.Page[any]) error {
		m.items += len(page.Items)
		last = !page.More && page.Continue == ""
		return yield(page)
	})
	if err == nil && last {
		m.listed = time.Now()
		m.queue.show(m.items)
	}
	return err
}

// Watch implements source.Source. Initial events are a list.
func (s *measuredSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	m := s.meter
	m.settle()
	initial, items := req.SendInitialEvents, 0
	return s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		items += len(events)
		if initial {
			if !endsInitial(events) {
				return yield(events)
			}
			initial, items = false, items-1 // without the bookmark
		}
		n := items
		items = 0
		return m.process(n, func() error { return yield(events) })
	})
}

func endsInitial(events []source.Event[any]) bool {
	for i := range events {
		if events[i].InitialEventsEnd {
			return true
		}
	}
	return false
}
