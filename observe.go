package kinglet

import (
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/uniquename"
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
type observed[T any] struct {
	entries []*entry[T]
	names   uniquename.Names
	// first is when the first was added, even if that is gone.
	first time.Time
}

type entry[T any] struct {
	what  T
	name  string
	added time.Time
}

// add adds what, which gives itself the name.
func (o *observed[T]) add(what T, name string) *entry[T] {
	added := &entry[T]{what, o.names.Of(name), time.Now()}
	o.entries = append(o.entries, added)
	if o.first.IsZero() {
		o.first = added.added
	}
	return added
}

// show adds what, under mu, and returns the function that removes it.
func (o *observed[T]) show(mu *sync.Mutex, what T, name string) (remove func()) {
	mu.Lock()
	defer mu.Unlock()
	added := o.add(what, name)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if i := slices.Index(o.entries, added); i >= 0 {
			o.entries = slices.Delete(o.entries, i, i+1)
			o.names.Free(added.name)
		}
	}
}

func (o *observed[T]) list() (all []T, names []string) {
	for _, e := range o.entries {
		all, names = append(all, e.what), append(names, e.name)
	}
	return all, names
}

// Observe makes the set show an informer that it does not run: in Status, on its page
// and in its metrics, until remove is called. remove may be called any number of times.
// Observe works before, during and after Run.
func (s *Set) Observe(informer Observable) (remove func()) {
	return s.informers.show(&s.mu, informer, informer.Status().Name)
}

// ObserveController makes the set show a controller that it does not run until remove is
// called. See AddController.
func (s *Set) ObserveController(c ObservableController) (remove func()) {
	return s.controllers.show(&s.mu, c, c.Status().Name)
}

// Observed returns the informers of the set and those that it observes, in the order they
// were added. As long as the set shows it, each has a name of its own, by which the page and
// metrics call it: its Status's or, if another has that, name#2, name#3 and so on.
func (s *Set) Observed() (informers []Observable, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.informers.list()
}

// Controllers returns the controllers that the set runs or observes, in the order they
// were added, and their names: see Observed.
func (s *Set) Controllers() (controllers []ObservableController, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controllers.list()
}
