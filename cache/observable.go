package cache

import (
	"context"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// Observable shows more about an informer than client-go's interfaces do. Every
// informer of this package, and every controller that has a store of its own,
// implements it:
//
//	if o, ok := informer.GetController().(cache.Observable); ok {
//		fmt.Println(o.Status().LastError, o.Quarantined())
//	}
//
// So does the Controller of each informer: client-go's factories return informers in
// wrappers of their own, which have no other methods than client-go's.
//
// Its methods are safe for concurrent use. Status and Quarantined cost about a
// microsecond.
type Observable interface {
	// Status returns what the informer is doing, since when, and what failed
	// last. Its ReadPath shows whether the informer reads the wire itself, and
	// why not. Resource is known for a ListWatch from a client, and for other
	// functions once a client with source.WrapTransport has sent a request of
	// theirs.
	Status() kinglet.Status
	// Quarantined lists the objects whose latest version could not be stored,
	// because they could not be decoded, keyed or transformed.
	Quarantined() []kinglet.Quarantined
	// Inspect returns what takes longer to find out: indexes, a memory estimate,
	// the last transitions, the watch.
	Inspect() status.Details
	// CheckConsistency compares the next page of the server's collection with the
	// store, logs what differs, and then lists everything again; see
	// kinglet.ConsistencyCheck. Nothing is compared unless a program calls it,
	// every ten minutes for example. The ListerWatcher's functions are called
	// beside the watch. Content is not compared if there is a transform.
	CheckConsistency(ctx context.Context) (kinglet.ConsistencyReport, error)
}

var (
	_ Observable = (*sharedInformer)(nil)
	_ Observable = (*informerController)(nil)
)
