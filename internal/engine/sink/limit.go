package sink

import (
	"iter"
	"sync"

	"github.com/kinglet-go/kinglet/store"
)

// Arrived is how many objects more the hub would hold with the lists that have arrived and
// are not published yet, those of all sinks. It is not counted while there is one sink.
type Arrived struct {
	mu sync.Mutex
	n  int
}

// Len implements reflector.Sized: it returns how many objects the hub holds, or would hold.
func (s *Sink[T]) Len() int {
	if !s.opts.Several() {
		return s.opts.Store.Len()
	}
	s.opts.Arrived.mu.Lock()
	defer s.opts.Arrived.mu.Unlock()
	return s.opts.Store.Len() + s.opts.Arrived.n
}

// Staging implements reflector.Sized.
func (s *Sink[T]) Staging(scope store.Scope, n int) (others int) {
	if !s.staging {
		if n == 0 || !s.opts.Several() {
			return 0
		}
		// Only the list changes how many they are, apart from the program itself.
		s.staging, s.own = true, 0
		for key := range s.opts.Store.Snapshot().SpanKeys(scope.Span) {
			if scope.Has(key) {
				s.own++
			}
		}
	}
	a := s.opts.Arrived
	a.mu.Lock()
	defer a.mu.Unlock()
	s.arrivedLocked(max(0, n-s.own))
	s.staging = n > 0
	return max(0, s.opts.Store.Len()-s.own) + a.n - s.more
}

func (s *Sink[T]) arrivedLocked(more int) {
	s.opts.Arrived.n += more - s.more
	s.more = more
}

// publish replaces what the store holds with a list. At every moment it is counted once.
func (s *Sink[T]) publish(batch store.Batch[T], ops iter.Seq[store.Op[T]], changed func(store.Change[T])) error {
	if s.staging {
		s.opts.Arrived.mu.Lock()
		defer s.opts.Arrived.mu.Unlock()
		s.arrivedLocked(0)
		s.staging = false
	}
	return s.opts.Store.ReplaceSeq(batch, ops, changed)
}
