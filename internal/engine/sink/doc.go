// Package sink connects the stages of an informer: it writes the reflector's lists and
// events to the store, and hands the changes to the handlers' queues.
//
// # What lives here
//
// A [Sink] belongs to one informer and implements reflector.Sink. One step (a
// batch of events, a list, a bookmark) is one deliver.Hub.Commit: the store, the
// source's version and the quarantine change together under the hub's lock, and
// a reader of the three in deliver.Hub.View reads one moment.
//
//	sink.go         the steps
//	refusal.go      events and items that change nothing, and why
//	quarantine.go   the keys whose latest version is not in the store
//	history.go      changes of the store as a legal history
//
// Errors in a step (of objects that cannot be stored, and those that the store
// returns) are reported when the lock is released, in that order.
//
// # Locks
//
// See package engine.
package sink
