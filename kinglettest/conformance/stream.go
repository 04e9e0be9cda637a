package conformance

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is a watch of an origin.
type stream struct {
	events chan watch.Event

	mu     sync.Mutex
	closed bool // guarded by mu, and so is sending to and closing events
}

// send reports whether the watch was still open.
func (s *stream) send(e watch.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	select {
	case s.events <- watch.Event{Type: e.Type, Object: copied(e.Object)}:
		return true
	default:
		panic(errors.New("BUG: a watch of an origin has no more room"))
	}
}

// copied is a copy of what may be nil: two clients never share an object.
func copied(obj runtime.Object) runtime.Object {
	if obj == nil {
		return nil
	}
	return obj.DeepCopyObject()
}

func (s *stream) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
}

func (s *stream) ResultChan() <-chan watch.Event { return s.events }

func (s *stream) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
