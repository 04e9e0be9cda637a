package apiserver

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Request is one request to a Server, as far as faults have to do with it.
type Request struct {
	// Number counts the requests to this Server, from 1.
	Number int
	// Verb is list, watch, get, create, update, patch, delete or deletecollection.
	Verb string
	// Resource is what it is about.
	Resource schema.GroupResource
	// Namespace and Name are empty where the path has none.
	Namespace, Name string
	// Options are those of a list or watch.
	Options metav1.ListOptions
}

// WatchList reports whether the request is a watch that begins with all there
// is (KEP-3157).
func (r *Request) WatchList() bool {
	return r.Verb == "watch" && r.Options.SendInitialEvents != nil && *r.Options.SendInitialEvents
}

// Fault is what goes wrong with one answer. The zero value is nothing; several
// may come together where that has a meaning. What breaks a connection breaks
// all that goes over it.
type Fault struct {
	// Delay is waited before anything else.
	Delay time.Duration
	// Refuse closes the connection without a byte of an answer.
	Refuse bool
	// Answer is sent instead of what was asked for; see apierrors.New… for
	// errors that go with it. RetryAfterSeconds in its details becomes the
	// header of that name.
	Answer error

	// CutAfter breaks the connection off after so many bytes of the body, and
	// StallAfter sends no more without breaking it off: the other side sees a
	// connection that is half open. 0 is never; -1 means before the first byte.
	CutAfter, StallAfter int64
	// Trickle sends the body in pieces of so many bytes, TrickleEvery apart.
	Trickle      int
	TrickleEvery time.Duration

	// EndAfter ends a watch in good order after so many events, bookmarks
	// included; -1 means at once. With End it ends with that as an ERROR event.
	EndAfter int
	End      error
	// NoBookmarks keeps all bookmarks back, also the one that ends the initial
	// events.
	NoBookmarks bool
	// Duplicate sends every event twice.
	Duplicate bool
	// CatchUp begins a watch-list so many revisions earlier, and sends what
	// happened since as changes, before the bookmark that ends the initial
	// events.
	CatchUp int64
	// Type, if not empty, replaces the type of each event.
	Type watch.EventType
	// Stranger, if not nil and if it returns an object, is sent behind each
	// event as one more, of each type in turn.
	Stranger func(obj runtime.Object) runtime.Object

	// Behind answers as a server that is so many revisions late would.
	Behind int64
	// Damage names objects that are sent in such a way that no decoder takes
	// them, though what surrounds them is in order.
	Damage func(key types.NamespacedName) bool
	// Replace is sent instead of an object, if it is not nil.
	Replace func(obj runtime.Object) runtime.Object
}

// Inject decides what goes wrong with the answer to a request; nil is nothing.
// It is called for one request at a time.
type Inject func(*Request) *Fault

// Script has faults for the first requests that each of its rules matches.
type Script []Rule

// Rule is one line of a Script.
type Rule struct {
	// Match chooses requests; nil is every one.
	Match func(*Request) bool
	// Skip lets so many matching requests pass first.
	Skip int
	// Times is how many are then answered with the fault; 0 is one, -1 is all.
	Times int
	Fault Fault
}

// On returns a match for requests of a verb; "watch-list" and "continue" are
// those watches and lists.
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
