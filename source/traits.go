package source

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Traits describe what a source can do besides List and Watch, and how it was
// configured. The zero value is for a source that can do nothing else.
//
// A source that wraps another embeds it, or starts from its Traits and changes
// what is different, so that a field added here reaches the outermost source.
type Traits[T any] struct {
	// NoWatchList reports that a watch-list (WatchRequest.SendInitialEvents)
	// would never be answered, as client-go's fakes report of themselves. A
	// source without it supports them, or finds out from the server's answer.
	NoWatchList bool
	// ReportsOpen reports that Watch calls WatchRequest.OnOpen. A reflector then
	// publishes a list only once the watch after it is open, since a watch of
	// client-go's fakes never sends what was deleted between the two. A source that
	// wraps another passes OnOpen on or clears this; otherwise the list would wait
	// for the first event.
	ReportsOpen bool
	// Sharing is the Sharing that objects are to use; nil means DefaultSharing,
	// unless DisableSharing is set.
	Sharing        *Sharing
	DisableSharing bool
	// Shared, if it is not nil, returns the Sharing in use now, or nil if objects
	// share nothing. It may be called at any time, from any goroutine.
	Shared func() *Sharing
	// Resource is what is listed and watched; empty if that is not known, as for
	// closures.
	Resource schema.GroupVersionResource
	// Requested, if it is not nil, returns the resource of the last request, where
	// Resource is empty: an Interceptor reads it from the request of a closure. It
	// returns an empty one before the first request, may be called at any time, and
	// does not allocate.
	Requested func() schema.GroupVersionResource
	// Sample, if it is not nil, sends the page that req asks for, as List does,
	// decoded afresh: its objects share memory with no others. If it cannot send
	// the objects that List would (after a Map, whose function it does not call),
	// items have Key, UID and ResourceVersion, and the zero T for Object. Unlike
	// List and Watch, Sample may be called at any time, from any goroutine, but
	// one at a time.
	Sample func(ctx context.Context, req SampleRequest, yield func(Page[T]) error) error
	// Whole reports that objects leave the collection only by being deleted, since no
	// selector depends on what an update changes.
	Whole bool
	// ReadAnswer, if it is not nil, returns the object in the answer to a write as
	// List or Watch would have sent it: without dropped fields, transformed, and in
	// memory of its own. It may be called at any time and from any goroutine. The
	// error is an *ItemError or a *KindError that names what is wrong with the
	// object, or wraps ErrNotCovered if the object is in another namespace than the
	// collection.
	ReadAnswer func(a Answer) (Written[T], error)
}

// Sample asks src for a sample, or returns ErrNoSample if it has none.
func Sample[T any](ctx context.Context, src Source[T], req SampleRequest, yield func(Page[T]) error) error {
	if sample := src.Traits().Sample; sample != nil {
		return sample(ctx, req, yield)
	}
	return ErrNoSample
}

// ReadAnswer makes src read the answer to a write, or returns ErrNoAnswers if it
// cannot.
func ReadAnswer[T any](src Source[T], a Answer) (Written[T], error) {
	if read := src.Traits().ReadAnswer; read != nil {
		return read(a)
	}
	return Written[T]{}, ErrNoAnswers
}
