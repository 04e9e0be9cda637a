package status

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/store"
)

// Details are what takes longer to find out about an informer. They are read from
// one snapshot, so no writer waits for them.
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

// Index says what an index of the store holds.
type Index struct {
	Name string
	// Values is how many values it has, Entries how many objects are below them,
	// each as often as it has values.
	Values, Entries int
	// Bytes is an estimate of what it takes beside the objects.
	Bytes int64
	// Largest is a value with the most objects, LargestObjects how many. It is empty
	// where the objects are Secrets.
	Largest        string
	LargestObjects int
}

// Memory is an estimate from Sampled objects. Parts that objects share are divided
// among those that share them.
type Memory struct {
	Sampled int
	// At is when it was estimated: it is kept for a minute, or for a thousand times as
	// long as it took.
	At time.Time
	// Objects are the bytes of all objects; Keys are what the store has beside them, but
	// for indexes: what finds them, and what decoders remember of them.
	Objects, Keys int64
	// LargestObjects are of the sample, at most ten, the largest first, each with all
	// that it shares with others. LargestNamespaces are at most ten, the largest first,
	// with their part of all objects as the sample has it.
	LargestObjects    []Sized
	LargestNamespaces []Sized
}

// Sized is what an object, or the objects of a namespace, take.
type Sized struct {
	Key   store.Key
	Bytes int64
}

// Quarantined is a key whose latest version could not be stored, without content.
type Quarantined struct {
	Key   store.Key
	Stage Stage
	// Err is what is wrong with it, in words that hold none of its values where
	// the object is a Secret.
	Err   string
	Since time.Time
	// Stale is whether the store holds an earlier, good version.
	Stale bool
}
