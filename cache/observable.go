package cache

import (
	"context"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// Observable is what every informer and controller that this package makes
// with a store of its own can say of itself beyond client-go's interfaces:
//
//	if o, ok := informer.(cache.Observable); ok {
//		fmt.Println(o.Status().LastError, o.Quarantined())
//	}
//
// Its methods are safe for concurrent use. Status and Quarantined cost about a
// microsecond.
type Observable interface {
	// Status returns what the informer is doing, since when, and what failed
	// last; and in ReadPath whether it reads the wire itself, and why not.
	// Resource is known of a ListWatch from a client, and of other functions once
	// a client with source.WrapTransport has sent a request of theirs.
	Status() kinglet.Status
	// Quarantined lists the objects whose latest version could not be taken
	// in, because they could not be decoded, keyed or transformed.
	Quarantined() []kinglet.Quarantined
	// Inspect returns what takes longer to find out: indexes, an estimate of the
	// memory, the last transitions, the watch.
	Inspect() status.Details
	// CheckConsistency compares the next page of the server's collection with
	// the store, logs what differs, and has
	// everything listed again; see kinglet.ConsistencyCheck. Nothing is
	// compared unless a program calls it, every ten minutes for example. The
	// ListerWatcher's functions are called beside the watch. Content is not
	// compared where there is a transform.
	CheckConsistency(ctx context.Context) (kinglet.ConsistencyReport, error)
}

var (
	_ Observable = (*sharedInformer)(nil)
	_ Observable = (*informerController)(nil)
)
