package cache

import (
	"context"
	"time"

	"github.com/kinglet-go/kinglet/source"
)

// observedSource counts what its source returns in metrics. It is not safe
// for concurrent use.
type observedSource struct {
	source.Source[any]
	counts *reflectorMetrics // may be nil
	meter  *meter            // may be nil

	// began and items describe the list whose pages are being fetched.
	began time.Time
	items int
}

// List implements source.Source. A list enters the store after its last page is
// returned: before the reflector's next request, or with its OnOpen.
func (s *observedSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	s.meter.settle()
	if req.Continue == "" {
		s.counts.listing()
		s.began, s.items = time.Now(), 0
	}
	last := false
	err := s.Source.List(ctx, req, func(page source.Page[any]) error {
		s.items += len(page.Items)
		last = !page.More && page.Continue == ""
		return yield(page)
	})
	if err == nil && last {
		s.counts.listed(s.began, s.items)
		s.meter.complete(s.items)
	}
	return err
}

// Watch implements source.Source. Initial events count as a list, without the
// bookmark that ends them.
func (s *observedSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	if publish := req.OnOpen; publish != nil {
		req.OnOpen = func() {
			publish()
			s.meter.settle()
		}
	} else {
		s.meter.settle()
	}
	initial := req.SendInitialEvents
	if initial {
		s.counts.listing()
	} else {
		s.counts.watching()
	}
	// items counts events since began, queued those that are not in the store
	// yet.
	began, items, queued := time.Now(), 0, 0
	err := s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		queued += len(events)
		for i := range events {
			items++
			if initial && events[i].InitialEventsEnd {
				s.counts.listed(began, items-1)
				s.counts.watching()
				began, items, initial = time.Now(), 0, false
				queued--
			}
		}
		if initial {
			return yield(events)
		}
		n := queued
		queued = 0
		return s.meter.process(n, func() error { return yield(events) })
	})
	if !initial {
		s.counts.watched(began, items)
	}
	return err
}
