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
// and what readers saw, at rest and in the midst of things.
//
//   - 1: at the end store and server are equal, and every object that anybody
//     was shown is, in all its bytes, what the server had at that version.
//   - 2: versions of a key, and of the collection, never go back, except from
//     before a restoration to after it, once.
//   - 3 and 10: what a look finds is exactly what there was at the resource
//     version that it names, and the index says the same as the objects.
//   - 4: Add, Update, Delete in a legal order, each Update from the state that
//     was told last, no Update from one UID to another, a final state that is
//     one or says that it is not.
//   - 5: a handler that returns at once knows whatever the store has, whoever
//     stands still beside it; no more records wait for one than there are keys.
//     (Package cache, which promises 65,536 records, is not seen to keep that.)
//   - 6: no call about the initial list ends after the registration said that it
//     was synced, and one that has nothing to do is synced.
//   - 7: what was damaged is in the store all the same, or in quarantine; what is
//     counted is reported, and what is in quarantine was damaged.
//   - 8: nothing that was shown has changed since.
//   - 9: when Run returns no handler is being called, and none is later; a
//     goroutine that is left over ends the test, which is synctest's doing.
//   - 11: what is deleted was deleted.
//
// # When a trial fails
//
// [Shrink] leaves out faults and steps for as long as it fails, and says how to
// run what is left. The plan is a seed's, but what happens is not quite: the
// informer draws its backoffs at random, and goroutines that can run at one
// moment do so in any order. So each part is run up to 6 times before it is
// taken to pass, and what is found says how many of its runs fail.
//
// # Engines
//
// An [Engine] is any implementation of an informer: [Kinglet], [DropIn] and
// [ClientGo] are here, so that the same trials can be run over all.
//
// # Own writes
//
// Reads that include what the program wrote itself (guarantee 12) have trials of
// their own, in own_test.go and what begins with own: no engine but kinglet has
// such reads.
//
// Client-go and mutations of the engine (package internal/mutant, `make mutants`) show
// that the checker can fail.
package torture
