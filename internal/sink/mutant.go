package sink

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// The mutations of this package; see internal/mutant. Only a build with the tag
// mutants calls them; from other builds the linker drops them.

// mutate applies the active mutation to a batch before it is stored, and returns the
// batch.
func (s *Sink[T]) mutate(scope store.Scope, events []source.Event[T], version string) []source.Event[T] {
	switch {
	case mutant.On(mutant.DropEvent):
		return slices.DeleteFunc(slices.Clone(events), func(source.Event[T]) bool { return mutant.Ninth(mutant.DropEvent) })
	case mutant.On(mutant.PublishEarly):
		s.opts.Store.SetResourceVersion(scope.ID, version)
		time.Sleep(time.Millisecond)
	case mutant.Ninth(mutant.WriteHeld):
		for obj := range s.opts.Store.All() {
			if o, ok := any(obj).(metav1.Object); ok {
				o.SetGenerateName("written")
			}
		}
	case mutant.On(mutant.DeliverFirst):
		s.deliverFirst(events)
	}
	return events
}

// deliverFirst delivers new objects that the store does not have yet, and sleeps.
// They are delivered again by the batch, which is wrong as well.
func (s *Sink[T]) deliverFirst(events []source.Event[T]) {
	s.opts.Hub.Commit(func() (changes []store.Change[T], _ string) {
		for i := range events {
			ev := &events[i]
			if _, held := s.opts.Store.Get(ev.Key); !held && ev.Err == nil && ev.Type == source.Added {
				changes = append(changes, store.Change[T]{Type: store.Added, Key: ev.Key, New: ev.Object, ResourceVersion: ev.ResourceVersion})
			}
		}
		return changes, ""
	})
	time.Sleep(time.Millisecond)
}

// endEarly ends the program's writes before the store shows the changes that confirm
// them, and sleeps.
func (s *Sink[T]) endEarly(scope, version string) {
	at := s.opts.Own.Version(scope)
	s.opts.Own.Reached(scope, version, nil)
	time.Sleep(time.Millisecond)
	s.opts.Own.Reached(scope, at, nil)
}

// reorder swaps two changes of one key that follow each other.
func reorder[T any](changes []store.Change[T]) {
	for i := range max(0, len(changes)-1) {
		if changes[i].Key == changes[i+1].Key {
			changes[i], changes[i+1] = changes[i+1], changes[i]
		}
	}
}
