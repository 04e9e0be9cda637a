package cache

import "github.com/kinglet-go/kinglet"

// Observable is what every informer and controller that this package makes
// with a store of its own can say of itself beyond client-go's interfaces:
//
//	if o, ok := informer.(cache.Observable); ok {
//		fmt.Println(o.Status().LastError, o.Quarantined())
//	}
//
// Its methods cost about a microsecond and are safe for concurrent use.
type Observable interface {
	// Status says what the informer is doing, since when, and what failed
	// last.
	Status() kinglet.Status
	// Quarantined lists the objects whose latest version could not be taken
	// in, because they could not be decoded, keyed or transformed.
	Quarantined() []kinglet.Quarantined
}

var (
	_ Observable = (*sharedInformer)(nil)
	_ Observable = (*informerController)(nil)
)
