// Package sink is where the stages of an informer meet: it writes what the
// reflector brings to the store, and hands what changed to the handlers' queues.
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
//	mutant.go       mutations, for tests of the tests
//
// Errors that come up in a step (of objects that cannot be stored, and those
// that the store returns) are reported when the lock is released, in that order.
//
// # Locks
//
// The hub's lock, then those of the store, of the own writes and of the
// quarantine. No user code but key, UID, index and equality functions runs under
// them. Reading the quarantine takes its lock alone, so that a status does not wait
// for a list.
package sink
