package source

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/store"
)

// Source is where objects come from: one collection of one kind, with its
// namespace and selectors fixed when it was made.
//
// List and Watch run on the caller's goroutine and call yield from it. They
// return when the stream is over, when ctx ends, or with yield's error, which
// they return unchanged. A Source may be used by one caller at a time.
type Source[T any] interface {
	// List sends the collection page by page. It follows continue tokens
	// itself only as far as req asks: one call is one request to the server (with
	// Options.WholeLabels a few), and the last page's Continue says where the next call goes on.
	// One response may be sent as several pages, so that it need not be held
	// whole; all but the last of them have More set.
	List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error

	// Watch sends batches of at least one event: those that arrived together.
	// It returns nil when the server ended the stream cleanly.
	// An error that the server sent as an event is an Event of type Error,
	// not an error of Watch. The batch may be reused after yield returns.
	Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error

	// String describes the collection for people: "pods in namespace x,
	// selector a=b". It is fixed.
	String() string

	// Traits returns what else the source can do, as it is now. A source of your
	// own may return the zero value. It may be called at any time, from any
	// goroutine, and does not allocate.
	Traits() Traits
}

// Traits describe what a source can do besides List and Watch, and how it was
// configured. The zero value is for a source that can do nothing else.
//
// A source that wraps another embeds it, or starts from its Traits and changes
// what is different, so that a field added here reaches the outermost source.
type Traits struct {
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
	// ExactLists reports that List takes ListRequest.Exact, and any call at any time and
	// from any goroutine, beside others.
	ExactLists bool
	// Whole reports that objects leave the collection only by being deleted, since no
	// selector depends on what an update changes.
	Whole bool
	// Mapped reports that objects are what a Map has made of the server's: their metadata
	// may be missing.
	Mapped bool
	// Sharing is the Sharing that objects are to use; nil means the default one,
	// unless DisableSharing is set.
	Sharing        *Sharing
	DisableSharing bool
	// Shared is the Sharing in use; nil if objects share nothing.
	Shared *Sharing
	// CheckIndex returns an error if an index reads what objects lack: see
	// Options.IndexCheck. It may be nil.
	CheckIndex func(index func(obj any) any) error
	// Reduce returns a copy of an object without what Options leave out of it now. It is
	// nil for a source without Options.Whole.
	Reduce func(obj any) (any, error)
	// Resource is what is listed and watched; empty if that is not known. Of closures
	// it is that of their last request, if Intercept is set.
	Resource schema.GroupVersionResource
	// Secrets reports that the objects are Secrets, or, as long as the resource is not
	// known, that their type leaves it open. What may quote them is not to be shown.
	Secrets bool
}

// Held returns the object that a sink holds under a key, and the memo that the
// decoder stored with it, so that a decoder can keep what did not change. The
// answer is a hint: it may be one version old. It is safe for concurrent use.
//
// A request without a Held promises more than one whose Held knows nothing:
// its objects share no memory with any other, so that the caller may modify
// them.
type Held[T any] func(key store.Key) (obj T, memo store.Memo, ok bool)

// ListRequest is one LIST request.
type ListRequest[T any] struct {
	// ResourceVersion is "", "0" or a version, as in metav1.ListOptions.
	ResourceVersion string
	// NotOlderThan sets resourceVersionMatch=NotOlderThan.
	NotOlderThan bool
	// Continue is the token of the previous page; ResourceVersion is then empty.
	Continue string
	// Limit is the page size asked for; 0 asks for everything.
	Limit int64
	// Exact asks for ResourceVersion, and no other (resourceVersionMatch=Exact). A
	// server that no longer has it answers with 410. A source with Traits.ExactLists
	// takes such a request, and the pages that continue it. If it cannot send the objects that are stored
	// (after a Map, which does not call its function), its items have Key, UID and
	// ResourceVersion, and the zero T for Object.
	Exact bool
	// FieldSelector is added to the source's own. A closure that sets a selector
	// may overwrite it, and then more objects come than were asked for.
	FieldSelector string
	// metadata asks for metadata in the place of objects, and labels selects more than the
	// source does: see listWhole.
	metadata bool
	labels   labels.Selector
	// Once asks for a single attempt: a refusal is returned at once, whatever
	// Retry-After says. Sources that do not control retries ignore it.
	Once bool
	// Held may be nil.
	Held Held[T]
	// OnPath, which may be nil, is called with how the answer is read, before
	// any of it is yielded and on the same goroutine, and again if that changes.
	// A source that wraps another passes it on. It is not called for a request
	// that fails earlier.
	OnPath func(ReadPath)
}

// WatchRequest is one WATCH request. Bookmarks are always asked for.
type WatchRequest[T any] struct {
	// ResourceVersion to go on from; "" for the most recent when
	// SendInitialEvents is set.
	ResourceVersion string
	// SendInitialEvents asks for a watch-list (KEP-3157): the state as Added
	// events, then a bookmark with InitialEventsEnd, then what follows.
	SendInitialEvents bool
	// Timeout after which the server is asked to end the stream.
	Timeout time.Duration
	// Held may be nil.
	Held Held[T]
	// OnPath is as in ListRequest.
	OnPath func(ReadPath)
	// OnOpen, which may be nil, is called by a source with Traits.ReportsOpen once the
	// watch is open, before any of it is yielded and on the same goroutine; or, if that
	// takes long, after a second. A source that wraps another passes it on. It is not
	// called for a request that fails earlier.
	OnOpen func()
}

// Item is one object as it came from the server, or the reason why there is
// none.
type Item[T any] struct {
	// Key is zero if the object's identity could not be read.
	Key             store.Key
	UID             types.UID
	ResourceVersion string
	// Object is the zero T if Err is set.
	Object T
	// Memo is what the decoder wants stored with the object; may be nil.
	Memo store.Memo
	// Size is what the object takes on the wire, with all its fields; 0 if that is not
	// known.
	Size int64
	// Err says why there is no object: an *ItemError.
	Err error
}

// Page is a piece of a list. Its Items are the receiver's to keep.
type Page[T any] struct {
	Items []Item[T]
	// ResourceVersion is the list's, the same on all of its pages. The page
	// without More always has it; earlier ones may not.
	ResourceVersion string
	// Continue is where the next request goes on; empty at the end.
	Continue string
	// Remaining is the server's estimate of items after this page, or 0.
	Remaining int64
	// More says that this response has more pages to come.
	More bool
	// Bytes is the size of this page on the wire after decompression, 0 where
	// the source cannot know. Over the pages of one response they add up to
	// its body.
	Bytes int64
}

// EventType is the type of a watch event.
type EventType uint8

const (
	// Added, Modified and Deleted carry an Item.
	Added EventType = iota + 1
	Modified
	Deleted
	// Bookmark carries only a ResourceVersion, up to which everything was sent.
	// An empty one says nothing.
	Bookmark
	// Error carries what the server sent instead of an object, as Err: an
	// apierrors.APIStatus where it was a Status. The stream is over.
	Error
	// Unknown is a type that this version does not know, or a known one whose
	// content is not an object; Err says what came.
	Unknown
)

// String returns the name as on the wire: "ADDED", "MODIFIED" ….
func (t EventType) String() string {
	if t == 0 || t > Unknown {
		t = Unknown
	}
	return eventTypes[t-1]
}

var eventTypes = [...]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "UNKNOWN"}

// eventType reads a type as it is on the wire.
func eventType(name string) EventType {
	for t := Added; t < Unknown; t++ {
		if t.String() == name {
			return t
		}
	}
	return Unknown
}

// HasObject reports whether events of this type carry an Item: Added,
// Modified and Deleted.
func (t EventType) HasObject() bool { return t >= Added && t <= Deleted }

// Event is one watch event. An Added, Modified or Deleted with an Err has no
// object. A Deleted with an Err and a Key still says that the key is gone,
// unless the Err is a *KindError: then the event, whatever its type, is about
// another object.
type Event[T any] struct {
	Type EventType
	Item[T]
	// InitialEventsEnd marks the bookmark that ends a watch-list's initial
	// events (the annotation k8s.io/initial-events-end).
	InitialEventsEnd bool
	// Bytes is the size of this event on the wire, 0 where the source cannot
	// know.
	Bytes int64
}
