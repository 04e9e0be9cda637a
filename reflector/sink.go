package reflector

import (
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Sink is what a reflector keeps equal to its source. Its methods are called
// from the reflector's goroutine, one at a time, except Held.
type Sink[T any] interface {
	// Held returns the object that the sink holds, as a hint for decoders. It is safe
	// for concurrent use.
	Held(key store.Key) (obj T, memo store.Memo, ok bool)

	// Apply applies live events in the order of the server. Their types are Added,
	// Modified and Deleted only. An item with Err set must be quarantined. An item
	// with a *source.KindError is of another object and changes nothing.
	// resourceVersion is the scope's version once all events are applied. The sink
	// must not keep the slice after the call.
	Apply(scope store.Scope, events []source.Event[T], resourceVersion string)

	// Replace replaces the whole state of the scope with a list at one version, in
	// the pieces in which it arrived. The sink drops objects of the scope that no
	// item names. The slices become the sink's.
	Replace(scope store.Scope, pages [][]source.Item[T], resourceVersion string, epoch bool)

	// Bookmark moves the scope's version forward with nothing changed.
	Bookmark(scope store.Scope, resourceVersion string)
}

// Sized is a Sink that knows how many objects it holds. With it,
// Options.MaxObjects also bounds what watches add, and what several reflectors fill
// together. Its methods are called from the reflector's goroutine.
type Sized interface {
	// Len returns how many objects the sink holds or Staging has announced.
	Len() int
	// Staging announces that n objects of a list of a scope have arrived, or with 0
	// that they were discarded. Replace ends it as well. Staging returns how many
	// objects the sink holds, or others have announced, beside those of the scope.
	Staging(scope store.Scope, n int) (others int)
}

// Comparing is a Sink that knows which events changed nothing, for Status.Duplicates.
type Comparing interface {
	// Duplicates returns how many watch events have changed nothing: the sink already
	// had that very object, or a delete named an object that it did not have. It is
	// safe for concurrent use.
	Duplicates() uint64
}
