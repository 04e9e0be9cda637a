// Package engine is the folder of what an informer is made of, between its reflector and
// its handlers. It has no code of its own.
//
//	sink         writes the reflector's steps to the store, and keeps the quarantine
//	deliver      the handlers' queues
//	own          the program's own writes, until the store shows them
//	consistency  compares the store with the server
//	mutation     finds writes into stored objects
//	readthrough  objects that are read when somebody asks for them
//	budget       the bytes that these and whole objects may take
//
// # Locks
//
// In this order; a lock is taken only under those above it in its group:
//
//	deliver.Hub.mu           through one step of the sink, so that the store, the
//	                         source's version, the quarantine and the queues change
//	                         together; else for O(1), or one chunk of a resync
//	store.Store.mu           through each write of the store
//	own.Writes.mu            for O(pending writes)
//	sink's quarantine        so that a status, which takes only this, waits for no list
//	kinglet's ledger         of a Budget: for O(changes), O(objects) after a list
//	budget.Budget.mu
//	readthrough.Cache.mu
//	deliver.Registration.mu  for at most pushChunk changes
//
//	mutation's checking      while objects are compared
//	mutation.Detector.mu     while an object is copied on arrival, or a list changes
//
// OnDemand.mu is taken under any of these, and OwnWrites.mu above all. consistency.Checker.mu
// guards counts. A channel ensures that one check runs at a time.
//
// The only user code under these locks is key, UID, index, scope and equality functions,
// and DeepCopyObject under Detector.mu. No lock is held while a handler or a request runs
// or an error is reported: errors in a step are reported when its locks are released.
package engine
