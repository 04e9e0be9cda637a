// Package deliver is the last stage of an informer: it carries the changes of
// one store to any number of handlers, each at its own pace.
//
// # What lives here
//
// A [Hub] belongs to one store. Whoever writes the store does so through
// [Hub.Commit], which applies a batch and gives its changes to every handler's
// queue as one step. A [Registration] is one handler: its queue, its goroutine
// while the hub runs, and what can be asked of it. The queue itself (queue.go)
// and the folding of changes (record.go) are plain data without locks,
// goroutines or time; registration.go, pump.go, replay.go and resync.go drive
// them.
//
// # What a handler sees
//
// Per key, an Added, then any number of Updated, then a Deleted, then perhaps
// an Added again. The Old of an Updated is the state that this handler was told
// last. Values never go backwards. The Deleted of a key that was Added is never
// left out, and the last thing a handler hears of a key is what the store
// holds. When it is called, the store shows the change already.
//
// A handler is called from one goroutine, never twice at once. It is given
// what is pending, up to [HandlerOptions.MaxBatch] changes; a quiet collection
// delivers each change by itself, at once.
//
// A write to the store that goes around the hub reaches no handler. The store
// reports the changes that follow as if what was removed so were still there
// (store.Batch.Reported): the handlers that know it hear of it. Those that began
// after it was gone do not, and are told accordingly (stranger.go).
//
// # Guarantees
//
// By their numbers in the documentation of package kinglet, with the test that
// shows each:
//
//   - 4, a legal history: TestEveryHandlerSeesALegalHistory, which lets random
//     things happen while handlers of every kind come, go and dawdle.
//   - 5, bounded memory: TestFoldingStepByStepEqualsFoldingTheWholeHistory,
//     TestQueueEqualsOneThatRemembersEverything and
//     TestAStalledHandlerHoldsOneRecordAKeyAndDelaysNobody;
//     TestBeyondItsBoundOnlyUpdatesFoldForAHandlerOfEveryVersion.
//   - 6, synced means synced:
//     TestSyncedMeansThatTheHandlerHasReturnedFromEveryInitialObject.
//   - 9, Run owns everything: TestRunNamesAHandlerThatDoesNotEndAndWaitsForIt,
//     TestHandlersComeAndGoInAStorm, and TestMain.
//   - 10, the store is never behind the handler: checked on every change of
//     every listener in the tests.
//
// # Folding
//
// A queue holds at most one record a key, of the form [Delete][Add or Update],
// so that a handler that stands still costs at most as many records as there
// are keys that it was told of or that are alive. A change to a key with a
// record folds into it, and the record keeps its place in the queue, which is
// that of its first change:
//
//	pending        + Added        + Updated               + Deleted
//	nothing        Added          Updated                 Deleted
//	Added          (Added)        Added, newest           nothing
//	Updated        (Updated)      Updated, first old,     Deleted
//	                              newest new
//	Deleted        Deleted,Added  (Deleted, Added)        (the Deleted that knows more)
//	Deleted,Added  (as Updated)   Deleted, Added newest   the first Deleted
//
// What stands in parentheses cannot come from a store; it is defined so that
// folding is total. Details that follow from "the handler hears what happened
// to what it knows":
//
//   - Added + Deleted is nothing: the handler never heard of the key.
//   - Updated + Deleted is that Deleted, with its Old (the final state, which
//     may be newer than what the handler was told last) and its
//     FinalStateUnknown.
//   - Deleted + Added + Deleted is the first Deleted, unchanged: it is about
//     the object that the handler knew, the second about one it never saw.
//   - An Added keeps its Reason, and with it that it was Initial, whatever is
//     folded into it. An Updated has the Reason of its newest part.
//   - ResourceVersion is that of the newest part; a Deleted keeps its own.
//   - OwnEcho is set if it is set for every change that was folded in, those
//     included that nobody hears of.
//
// [HandlerOptions.EveryVersion] asks for every change one by one instead, up
// to a bound.
//
// # Cursors
//
// Current state reaches a handler by iterating over a snapshot on the
// handler's own goroutine: nothing is copied, and the list is never queued.
// There are two occasions. The first is the initial replay (replay.go), the
// second a resync (resync.go); the argument why each keeps the history legal
// stands there.
//
// # Locks
//
// Order: Hub.mu, then Registration.mu. Hub.mu makes "state of the store plus
// what is in the queues" one thing; it is held while a batch is applied and
// queued, and otherwise for O(1) or one chunk of a resync. Registration.mu is
// held for at most pushChunk changes. A handler's goroutine takes Hub.mu only
// to resync and to end, so that handlers do not wait for batches that are not
// theirs. Neither lock is held while a handler or Options.Report runs; the
// function given to Commit, and through it the store's key and index
// functions, do run under Hub.mu and must not call into the hub.
//
// Everything exported is safe for concurrent use, also from inside a handler,
// with one exception that cannot be otherwise: a handler must not wait for
// its own end ([Registration.Done], [Hub.Wait]).
package deliver
