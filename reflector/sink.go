package reflector

import (
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Sink is what a reflector keeps equal to its source. Its methods are called
// from the reflector's goroutine, one at a time, except Held.
type Sink[T any] interface {
	// Held is the hint that decoders ask for; safe for concurrent use.
	Held(key store.Key) (obj T, memo store.Memo, ok bool)

	// Apply takes live events in the order of the server; only Added,
	// Modified and Deleted. An item with Err set is to be quarantined. One with
	// a *source.KindError is of another object and changes nothing.
	// resourceVersion is the scope's once all of them are applied.
	// The slice is the caller's again after the call.
	Apply(scope store.Scope, events []source.Event[T], resourceVersion string)

	// Replace takes the whole state of the scope, as of one version, in the
	// pieces in which it came. What the sink holds in the scope and no item
	// names is gone. The slices pass to the sink.
	Replace(scope store.Scope, pages [][]source.Item[T], resourceVersion string, epoch bool)

	// Bookmark moves the scope's version forward with nothing changed.
	Bookmark(scope store.Scope, resourceVersion string)
}

// Sized is a Sink that knows how many objects it holds. With it,
// Options.MaxObjects also bounds what watches add.
type Sized interface {
	// Len is called from the reflector's goroutine.
	Len() int
}

// Comparing is a Sink that knows which events changed nothing, for Status.Duplicates.
type Comparing interface {
	// Duplicates returns how many events of watches changed nothing so far: the
	// sink had that very object already, or a delete was of nothing that it had.
	// It is safe for concurrent use.
	Duplicates() uint64
}
