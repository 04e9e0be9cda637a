// Package torture runs an informer through random writes and random faults, and
// checks what its handlers and readers saw against what really happened.
//
// A [Trial] is one seed: an API server in memory ([apiserver]) whose objects
// are written, deleted and created again; whose history is compacted, whose
// connections break, whose replicas lag; and whose answers have the faults of an
// [apiserver.Plan]. It takes some minutes of a synctest bubble's time, which are
// milliseconds of real time. When the faults are over the informer has time to
// settle, and everything that was seen is checked; see check.go for the
// properties, which are named after the guarantees of package kinglet.
//
// An [Engine] is any implementation of an informer: [Kinglet],
// [DropIn] and [ClientGo] are here, so that the same trials can be run over all.
package torture
