package status

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/store"
)

// Details is what takes longer to find out about an informer. It is read from one
// snapshot, so no writer waits for it.
type Details struct {
	// Transitions are the last 32 changes of the reflector's phase, oldest first.
	Transitions []reflector.Transition
	// Watch is the request under way, or the last one.
	Watch reflector.Request
	// Indexes are those of the store, by name.
	Indexes []Index
	// Memory is what the objects take, from a sample.
	Memory Memory
	// Quarantined are the first 32 of the keys whose latest version could not be stored.
	Quarantined []Quarantined
}

// Index is the size of an index of the store. Largest is empty if the objects may be
// Secrets (Informer.Secrets), unless the index is that by namespace.
type Index = store.IndexStats

// Memory is an estimate from Sampled objects. The size of parts that objects share is
// divided among them.
type Memory struct {
	Sampled int
	// At is when it was estimated: it is kept for a minute, or for a thousand times as
	// long as it took.
	At time.Time
	// Objects is the bytes of all objects. Keys is what the store takes beside them,
	// without indexes: what finds them, and what decoders remember of them.
	Objects, Keys int64
	// LargestObjects are of the sample, at most ten, the largest first, each with all
	// that it shares with others. LargestNamespaces are at most ten, the largest first,
	// with their part of all objects according to the sample.
	LargestObjects    []Sized
	LargestNamespaces []Sized
}

// Sized is the size of an object, or of the objects of a namespace.
type Sized struct {
	Key   store.Key
	Bytes int64
}

// Quarantined is a key whose latest version could not be stored, without content.
type Quarantined struct {
	Key   store.Key
	Stage Stage
	// Err is what is wrong with it. If the objects may be Secrets, the text holds none of
	// their values.
	Err   string
	Since time.Time
	// Stale is whether the store holds an earlier, good version.
	Stale bool
}
