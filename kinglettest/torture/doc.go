// Package torture runs an informer through random writes and random faults, and
// checks what its handlers and readers saw against what really happened.
//
// A [Trial] is one seed, which stands for a [Plan]: an API server in memory
// ([apiserver]) whose objects are written, deleted and created again; whose
// history is compacted, whose connections break, whose replicas lag, whose
// storage is restored from a backup; and whose answers have the faults of an
// [apiserver.Plan]. Handlers come while it runs; some are slow, some stand
// still until the end. It takes some minutes of a synctest bubble's time, which
// are milliseconds of real time. Then the informer has time to settle, or is
// stopped in the midst of it.
//
// # What is checked
//
// A violation begins with the number that its guarantee has in package kinglet.
// What the server had is known version by version ([apiserver.Storage.History]);
// so is what each handler was told, with what the store showed at that moment,
// and what readers saw, during the trial and after it.
//
//   - 1: at the end store and server are equal, and every object that a handler or reader
//     saw equals, in all its bytes, the server's object of that version.
//   - 2: versions of a key, and of the collection, never go back, except once at a
//     restoration.
//   - 3 and 10: a snapshot is exactly the server's state at the resource version that it
//     names, and its indexes agree with its objects.
//   - 4: Add, Update and Delete come in a legal order, each Update from the last state that
//     the handler received, and never from one UID to another. The final state of a Delete
//     is the last one, or is marked as unknown.
//   - 5: a handler that returns at once has received all that the store has, even if others
//     are stalled. No more records are pending for a handler than there are keys. (The
//     65,536 records that package cache promises are not checked.)
//   - 6: no call for the initial list ends after the registration reports that it has
//     synced, and a registration with an empty list has synced.
//   - 7: a damaged object is in the store all the same, or in quarantine. What is counted is
//     reported, and every quarantined object was damaged.
//   - 8: no object has changed since it was seen.
//   - 9: once Run has returned, no handler is being called, or will be. A goroutine that is
//     left over ends the test, which synctest sees to.
//   - 11: every object that is reported as deleted was deleted.
//
// # When a trial fails
//
// [Shrink] removes faults and steps while the trial still fails, and prints the command
// that runs what remains. The seed determines the plan, but not the exact run: backoffs are
// random, and goroutines are scheduled in any order. So a smaller trial counts as passing
// only after 6 runs, and the result has the number of runs that failed.
//
// # Engines
//
// An [Engine] is any implementation of an informer: [Kinglet], [DropIn] and
// [ClientGo] are here, so that the same trials can be run over all.
//
// # Own writes
//
// Reads that include the program's own writes (guarantee 12) have trials of their own, in
// the files whose names begin with own. No engine but kinglet has such reads.
//
// Client-go and the mutations of the engine (`make mutants`) show that the checker can
// fail.
package torture
