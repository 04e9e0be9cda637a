package status

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/internal/engine/deliver"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/reflector"
)

// Informer is the state of an informer at one moment.
type Informer struct {
	// Name is unique among the informers that one program names well.
	Name string
	// Resource is what is listed and watched; empty if the source does not report
	// it, as with closures.
	Resource schema.GroupVersionResource
	// Secrets reports that the objects are Secrets, or may be: nothing is shown that may
	// quote them. See source.Traits.
	Secrets bool
	// Status is that of the reflector: Phase and Since, LastError, counts of lists,
	// watches and events, LastContact, Degraded, ReadPath and more. For an informer,
	// Synced is true once the store holds the first list, and ResourceVersion is the
	// version of the source that the store has reached. Writes to WritableStore do
	// not move it.
	reflector.Status
	// Objects is the size of the store.
	Objects int
	// Quarantined counts keys whose latest version is not in the store. Failures
	// counts the versions that could not be stored, ever: see Informer.Quarantined.
	// FailuresByStage counts them by the stage that refused the object. StageIndex
	// counts objects that are stored but missing in an index.
	Quarantined     int
	Failures        uint64
	FailuresByStage StageCounts
	// QuarantinedSince is since when there has been at least one such key; zero
	// while there is none.
	QuarantinedSince time.Time
	// OwnWrites counts the writes that were recorded with Informer.Wrote and WroteDelete.
	// Entries is how many keys have writes that reads include and the store does not show
	// yet, and Oldest is when the oldest of them was recorded. Confirmed writes were in
	// reads until the watch reached them; Late ones were recorded after the watch, or a
	// later write, had passed them. Expired writes were not confirmed within two minutes,
	// or were one too many; Dropped ones ended with a new epoch of the server's versions.
	// Each Expired or Dropped write was reported as an *UnconfirmedWriteError.
	OwnWrites own.Status
	// Consistency counts what consistency checks did: Checks begun, those NotChecked,
	// Sweeps of the whole collection, objects Compared and Skipped, Differences, Relists;
	// when the Last check ended, and why the last check that could compare nothing could
	// not (LastNotChecked).
	Consistency consistency.Status
	// Mutations counts the writes into objects that MutationDetection reported.
	Mutations uint64
	// Handlers are those that are registered now, in the order they were added.
	Handlers []Handler
	// Sharing is what the decoder shares; zero if it shares nothing. Most informers
	// of a program share one table, so it must not be added up: SharingID identifies
	// the table.
	Sharing   Sharing
	SharingID uint64
	// Budget is that of an informer on demand; zero if it has none.
	Budget Budget
}

// Budget is what whole objects may take. Informers that share one show the same Bytes and
// Used, which include what Get has read.
type Budget struct {
	Bytes, Used int64
	// Whole is what the whole objects in this informer's store take.
	Whole int64
	// Short is how many objects are metadata because there was no room for more, since when
	// there are any.
	Short int
	Since time.Time
}

// Handler is the state of a handler at one moment.
type Handler = deliver.Status

// Sharing is the size of a decoder's table of shared values, and its hits and
// misses.
type Sharing struct {
	// Values is how many values are shared. Bytes is what they and the shared
	// strings take, at most MaxBytes.
	Values          int
	Bytes, MaxBytes int64
	// Hits counts lookups that found a value, Misses those that did not.
	Hits, Misses uint64
}

// Stage is the step at which an object that cannot be stored was refused.
type Stage uint8

// The stages.
const (
	StageDecode Stage = iota
	StageTransform
	StageKey
	StageIndex
	StageOther
	stages
)

// String returns the stage's name, as used in metrics.
func (s Stage) String() string {
	return [...]string{"decode", "transform", "key", "index", "other"}[s]
}

// StageCounts are counted by Stage.
type StageCounts [stages]uint64

// StaleSince reports since when reads may be older than what the server has, and
// whether they may: while requests fail or the store may differ, and while a watch is
// silent for longer than the server's bookmark interval. A quiet watch of a server that
// sends no bookmarks proves nothing, and counts as fresh. So does a list that is under way,
// for a minute, and an informer that runs without a source. After a stop, reads are stale.
func (i *Informer) StaleSince(now time.Time) (since time.Time, stale bool) {
	switch {
	case !i.Synced:
		return time.Time{}, false // there is nothing to be stale
	case i.Phase == reflector.Stopped:
		return i.Since, true
	case i.failing():
		return i.failedSince(), true
	case i.Degraded:
		return i.LastErrorTime, true
	case i.Phase == reflector.Starting:
		return time.Time{}, false // it has no source, or one that is about to begin
	case i.Phase != reflector.Watching:
		return i.Since, now.Sub(i.Since) > longList
	case i.BookmarkInterval > 0 && now.Sub(i.LastContact) > i.BookmarkInterval+lateBookmark:
		return i.LastContact, true
	}
	return time.Time{}, false
}
