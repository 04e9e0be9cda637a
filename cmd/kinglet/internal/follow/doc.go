// Package follow is a session of kinglet watch: an informer for each resource, whose
// events are written to an Output, a look at all informers several times a second, and a
// summary at the end.
//
// Handlers run on their informer's goroutine and touch only their own collection, whose
// counters are atomic, and the Output. All else belongs to the session's goroutine.
package follow
