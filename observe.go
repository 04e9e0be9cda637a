package kinglet

import (
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/status"
)

// Observable is an informer that a Set shows but does not run: one of package cache, of
// ctrlruntime, or one that another part of the program runs. An Observable that is also
// an Inspectable can be looked into.
type Observable interface{ Status() Status }

// Inspectable is an informer that can be looked into.
type Inspectable interface{ Inspect() status.Details }

// ObservableController is a controller that a Set shows: one of package controller.
type ObservableController interface {
	Status() status.Controller
	Inspect() status.ControllerDetails
}

// observed holds what a Set shows, in the order in which it was added.
type observed[T any] struct{ entries []*entry[T] }

type entry[T any] struct {
	what  T
	added time.Time
}

func (o *observed[T]) add(what T) *entry[T] {
	added := &entry[T]{what, time.Now()}
	o.entries = append(o.entries, added)
	return added
}

// show adds what, under mu, and returns the function that removes it.
func (o *observed[T]) show(mu *sync.Mutex, what T) (remove func()) {
	mu.Lock()
	defer mu.Unlock()
	added := o.add(what)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		o.entries = slices.DeleteFunc(o.entries, func(e *entry[T]) bool { return e == added })
	}
}

func (o *observed[T]) list() []T {
	out := make([]T, len(o.entries))
	for i, e := range o.entries {
		out[i] = e.what
	}
	return out
}

// Observe makes the set show an informer that it does not run: in Status, on its page
// and in its metrics, until remove is called. remove may be called any number of times.
// Observe works before, during and after Run.
func (s *Set) Observe(informer Observable) (remove func()) {
	return s.informers.show(&s.mu, informer)
}

// ObserveController makes the set show a controller that it does not run until remove is
// called. See AddController.
func (s *Set) ObserveController(c ObservableController) (remove func()) {
	return s.controllers.show(&s.mu, c)
}

// Observed returns the members of the set and the informers that it observes, in the
// order they were added, members first.
func (s *Set) Observed() []Observable {
	informers, _ := s.observed()
	return informers
}

// observed returns what Observed does, and when each was added.
func (s *Set) observed() (informers []Observable, added []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.members.entries {
		informers, added = append(informers, e.what), append(added, e.added)
	}
	for _, e := range s.informers.entries {
		informers, added = append(informers, e.what), append(added, e.added)
	}
	return informers, added
}

// Controllers returns the controllers that the set runs or observes, in the order they
// were added.
func (s *Set) Controllers() []ObservableController {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controllers.list()
}
