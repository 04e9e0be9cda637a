// Package deliver is the last stage of an informer: it carries the changes of
// one store to any number of handlers, each at its own pace.
//
// # What lives here
//
// A [Hub] belongs to one store. The sink writes to the store through
// [Hub.Commit], which applies a batch and adds its changes to every handler's
// queue as one step. A [Registration] is one handler: its queue, and its goroutine
// while the hub runs. The queue (queue.go) and the folding of changes (record.go)
// are plain data without locks, goroutines or time; registration.go, pump.go,
// replay.go and resync.go drive them.
//
// # What a handler sees
//
// Per key, an Added, then any number of Updated, then a Deleted, then perhaps
// an Added again. The Old of an Updated and the Last of a Deleted are the state that
// this handler received last. Values never go backwards. The Deleted of a key that was Added is never
// left out, and the last change that a handler receives of a key has the state that
// the store holds. When the handler is called, the store shows the change already.
//
// A handler is called from one goroutine, never twice at once. It receives the
// pending changes, up to [HandlerOptions.MaxBatch]; in a quiet collection each
// change is delivered alone, at once.
//
// A write to the store that goes around the hub reaches no handler. The changes
// that follow treat an object that was removed in this way as if it were still
// there (store.Batch.Reported), so that handlers that have received it learn of its
// end. A handler that began later has not, and gets other changes (replay.go).
//
// # Guarantees
//
// By their numbers in the documentation of package kinglet, with the test of each:
//
//   - 4, a legal history: TestEveryHandlerSeesALegalHistory, which lets random
//     things happen while handlers of every kind come, go and dawdle.
//   - 5, bounded memory: TestFoldingStepByStepEqualsFoldingTheWholeHistory,
//     TestQueueEqualsOneThatRemembersEverything and
//     TestAStalledHandlerHoldsOneRecordAKeyAndDelaysNobody;
//     TestBeyondItsBoundOnlyUpdatesFoldForAHandlerOfEveryVersion.
//   - 6, synced means synced:
//     TestSyncedMeansThatTheHandlerHasReturnedFromEveryInitialObject.
//   - 9, Run owns everything: TestWaitNamesAHandlerThatDoesNotEndAndWaitsForIt,
//     TestHandlersComeAndGoInAStorm, and TestMain.
//   - 10, the store is never behind the handler: every listener in the tests
//     checks it on every change.
//
// # Folding
//
// A queue holds at most one record a key, of the form [Delete][Add or Update], so
// that a stalled handler costs at most one record for each key that it has received
// or that is alive. A change to a key with a record folds into it, and the record
// keeps its position in the queue, which is that of its first change:
//
//	pending        + Added        + Updated               + Deleted
//	nothing        Added          Updated                 Deleted
//	Added          (Added)        Added, newest           nothing
//	Updated        (Updated)      Updated, first old,     Deleted
//	                              newest new
//	Deleted        Deleted,Added  (Deleted, Added)        (the Deleted that knows more)
//	Deleted,Added  (as Updated)   Deleted, Added newest   the first Deleted
//
// A store does not produce the combinations in parentheses; they are defined so
// that folding is total. The rule behind the table is that a handler learns what
// happened to the objects that it has received:
//
//   - Added + Deleted is nothing: the handler never received the object.
//   - Updated + Deleted is that Deleted, with its Old (the final state, which
//     may be newer than the state that the handler received last) and its
//     FinalStateUnknown. Its Last is the Old of the Updated.
//   - Deleted + Added + Deleted is the first Deleted, unchanged: it is about
//     the object that the handler received, the second about one that it did not.
//   - An Added keeps its Reason, Initial for example, whatever is folded into it. An
//     Updated has the Reason of its newest part.
//   - ResourceVersion is that of the newest part; a Deleted keeps its own.
//   - OwnEcho is set if it is set for every change that was folded in, including
//     those that are not delivered.
//
// [HandlerOptions.EveryVersion] asks for every change one by one instead, up
// to a bound.
//
// # Cursors
//
// Current state reaches a handler by iterating over a snapshot on the
// handler's own goroutine: nothing is copied, and the list is never queued.
// This happens in the initial replay (replay.go) and in a resync (resync.go), which
// argue why each keeps the history legal.
//
// # Locks
//
// See package engine for their order. A handler's goroutine takes Hub.mu only to resync and
// to end, so that handlers do not wait for batches that are not theirs. The functions given
// to Commit and View, and through them the store's key and index functions, run under
// Hub.mu and must not call into the hub.
//
// Everything exported is safe for concurrent use, also from inside a handler. The
// one exception is that a handler must not wait for its own end
// ([Registration.Done], [Hub.Wait]).
package deliver
