package kinglet

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// Phase is what an informer is doing.
type Phase = reflector.Phase

// The phases.
const (
	Starting   = reflector.Starting
	Listing    = reflector.Listing
	Streaming  = reflector.Streaming
	Watching   = reflector.Watching
	BackingOff = reflector.BackingOff
	Stopped    = reflector.Stopped
)

// Status is what is known of an informer at one moment.
type Status struct {
	Name string
	// Phase and since when; Stopped once Run has returned.
	Phase Phase
	Since time.Time
	// Synced is true from the first list on, and stays true.
	Synced bool
	// LastError is what failed last, nil once the informer is healthy again.
	LastError     error
	LastErrorTime time.Time
	// ResourceVersion is the source's that the store has come to. What a program
	// writes into the store does not move it.
	ResourceVersion string
	// Objects is the size of the store.
	Objects int
	// Received counts the objects of the list under way, and Remaining is how
	// many the server said are still to come, 0 where it did not say.
	Received, Remaining int64
	// Bytes read since the start, 0 where the source cannot know.
	Bytes uint64
	// Events, Lists and Watches count what was received and asked for.
	Events, Lists, Watches uint64
	// Probes are requests for one object, sent for the server's version where it
	// has shown no sign of it for two minutes, before a watch is resumed.
	Probes uint64
	// SilentWatches were given up because the server, which sends bookmarks
	// otherwise, said nothing on them for three bookmark intervals; another
	// watch from the same version followed each at once.
	SilentWatches uint64
	// LastContact is when the server was last heard of: a page, an event or a
	// bookmark came. Zero before the first. BookmarkInterval is the pace of the
	// server's bookmarks, and 0 where it sends none: silence means nothing there.
	LastContact      time.Time
	BookmarkInterval time.Duration
	// Quarantined counts keys whose latest version could not be taken in,
	// Failures the versions that could not, ever; see Informer.Quarantined.
	Quarantined int
	Failures    uint64
	// Degraded is true after an object came whose identity could not be read, a
	// consistency check found a difference, or a server was found to number
	// anew, until a relist heals it.
	Degraded bool
	// OwnWrites says what has become of what Informer.Wrote and WroteDelete were
	// told.
	OwnWrites OwnWritesStatus
	// Consistency says what has come of consistency checks.
	Consistency ConsistencyStatus
	// ReadPath says how objects are read: from the wire, in protobuf or JSON,
	// or by a client's decoder, which costs many times as much. If not from the
	// wire, or not by kinglet's decoder, it says why and since when.
	ReadPath ReadPath
}

// ReadPath is how objects are read, why, and since when.
type ReadPath = source.ReadPath
