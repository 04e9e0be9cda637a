package apiserver

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Request describes one request to a Server, for choosing its fault.
type Request struct {
	// Number counts the requests to this Server, from 1.
	Number int
	// Verb is list, watch, get, create, update, patch, delete or deletecollection.
	Verb string
	// Resource is the requested resource.
	Resource schema.GroupResource
	// Namespace and Name are empty where the path has none.
	Namespace, Name string
	// Options are those of a list or watch.
	Options metav1.ListOptions
}

// WatchList reports whether the request is a watch that begins with all objects
// (KEP-3157).
func (r *Request) WatchList() bool {
	return r.Verb == "watch" && r.Options.SendInitialEvents != nil && *r.Options.SendInitialEvents
}

// Fault is what goes wrong with one answer; with the zero value nothing does. Fields may be
// combined where that makes sense. A fault that breaks the connection breaks every answer
// on it.
type Fault struct {
	// Delay is how long the server waits before anything else.
	Delay time.Duration
	// Refuse closes the connection without a byte of an answer.
	Refuse bool
	// Answer replaces the server's answer. The functions apierrors.New… make such errors.
	// RetryAfterSeconds in its details becomes the header Retry-After.
	Answer error

	// CutAfter closes the connection after so many bytes of the body. StallAfter sends
	// nothing more and leaves it open, as a half-open connection does. 0 means never, -1
	// before the first byte.
	CutAfter, StallAfter int64
	// Trickle sends the body in pieces of so many bytes, one every TrickleEvery.
	Trickle      int
	TrickleEvery time.Duration

	// EndAfter ends a watch properly after so many events, bookmarks included; -1 means
	// at once. If End is set, the last event is an ERROR with it.
	EndAfter int
	End      error
	// NoBookmarks sends no bookmarks, not even the one that ends the initial events.
	NoBookmarks bool
	// Duplicate sends every event twice.
	Duplicate bool
	// CatchUp begins a watch-list so many revisions earlier, and sends the changes since
	// then before the bookmark that ends the initial events.
	CatchUp int64
	// Type, if not empty, replaces the type of each event.
	Type watch.EventType
	// Stranger, if not nil, returns an object that is sent after each event, as one more
	// event, of each type in turn. It may return nil.
	Stranger func(obj runtime.Object) runtime.Object

	// Behind answers as a server does that lags so many revisions behind.
	Behind int64
	// Damage chooses objects that are sent so that no decoder accepts them, although the
	// bytes around them are valid.
	Damage func(key types.NamespacedName) bool
	// Replace, if not nil, returns the object to send instead of obj.
	Replace func(obj runtime.Object) runtime.Object
}

// Inject returns the fault of the answer to a request, or nil. It is called for one request
// at a time.
type Inject func(*Request) *Fault

// Script has faults for the first requests that each of its rules matches.
type Script []Rule

// Rule is one line of a Script.
type Rule struct {
	// Match chooses requests; nil chooses all.
	Match func(*Request) bool
	// Skip is how many matching requests are answered without the fault first.
	Skip int
	// Times is how many are then answered with the fault; 0 means one, -1 all.
	Times int
	Fault Fault
}

// On returns a match for requests of a verb. "watch-list" matches watch-lists only, and
// "continue" lists with a continue token.
func On(verb string) func(*Request) bool {
	return func(r *Request) bool {
		switch verb {
		case "watch-list":
			return r.WatchList()
		case "continue":
			return r.Verb == "list" && r.Options.Continue != ""
		}
		return r.Verb == verb
	}
}

// Inject returns a function that plays the script once. The first rule that
// matches decides.
func (s Script) Inject() Inject {
	seen := make([]int, len(s))
	return func(r *Request) *Fault {
		for i := range s {
			rule := &s[i]
			if rule.Match != nil && !rule.Match(r) {
				continue
			}
			times := rule.Times
			if times == 0 {
				times = 1
			}
			n := seen[i]
			if times > 0 && n >= rule.Skip+times {
				continue // this rule has had its turn
			}
			seen[i]++
			if n >= rule.Skip {
				return &rule.Fault
			}
			return nil
		}
		return nil
	}
}
