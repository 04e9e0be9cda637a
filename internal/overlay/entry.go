package overlay

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/store"
)

// Rules read the identity and the version of objects.
type Rules[T any] struct {
	UID func(T) types.UID
	// Version is the object's resource version, or empty.
	Version func(T) string
}

// entry has the writes and removals of one key. It never changes.
type entry[T any] struct {
	key store.Key
	// scope is the ID of the scope that the key is in.
	scope string
	// written is nil if the program has only deleted.
	written *written[T]
	// removals are those of objects that are not known to be older than written.
	removals []removal
	// versions are those of the program's writes that the watch has not reached
	// yet, in the order of recording; at most maxVersions.
	versions []string
}

// maxVersions bounds the versions by which an entry recognises the program's own
// changes. Changes at older versions count as foreign.
const maxVersions = 64

// written is the state after a write.
type written[T any] struct {
	obj T
	// absent: the write took the object out of the collection.
	absent  bool
	uid     types.UID
	version string
	since   time.Time
	// pinned: the watch has passed it without showing it.
	pinned bool
	// values are the object's values in each index, as of a generation of indexes.
	values     map[string][]string
	generation uint64
}

// removal is an object that was deleted.
type removal struct {
	uid types.UID
	// bound is a version at which the object still existed, or empty.
	bound string
	// seen: at bound the object was in the collection, so that a store which has
	// reached bound has had it.
	seen  bool
	since time.Time
}

// reached reports whether a collection at version at has reached another version.
func reached(at, version string) bool {
	order, ok := resourceversion.Compare(at, version)
	return ok && order >= 0
}

// before reports whether a collection at version at is known not to have reached
// another version. A collection without a version has reached none.
func before(at, version string) bool {
	if at == "" {
		return resourceversion.Ordered(version)
	}
	order, ok := resourceversion.Compare(at, version)
	return ok && order < 0
}

// comparableWith reports whether a collection's version can be compared with another
// one. A collection without a version is before all versions that have an order.
func comparableWith(at, version string) bool {
	return resourceversion.Ordered(version) && (at == "" || resourceversion.Ordered(at))
}

// asNew reports whether the held object is as new as a version.
func (r *Rules[T]) asNew(held T, ok bool, version string) bool {
	if !ok {
		return false
	}
	is := r.Version(held)
	return is == version && version != "" || reached(is, version)
}

// confirmed reports whether a store that holds held at version at shows w or something
// newer.
func (w *written[T]) confirmed(r *Rules[T], at string, held T, ok bool) bool {
	return !w.pinned && reached(at, w.version) || r.asNew(held, ok, w.version)
}

// hides reports whether a removal hides the key if the store holds held at version at.
func (r *Rules[T]) hides(m *removal, at string, held T, ok bool) bool {
	return before(at, m.bound) || ok && r.UID(held) == m.uid
}

// resolve returns what a read shows under the entry's key if the store, at version
// at, holds held. merged is false if the read shows held itself.
func (e *entry[T]) resolve(r *Rules[T], at string, held T, ok bool) (obj T, shown, merged bool) {
	if w := e.written; w != nil && !w.confirmed(r, at, held, ok) {
		return w.obj, !w.absent, true
	}
	for i := range e.removals {
		if r.hides(&e.removals[i], at, held, ok) {
			var none T
			return none, false, true
		}
	}
	return held, ok, false
}

// isOwn reports whether a change of the key consists only of the program's writes.
func (e *entry[T]) isOwn(r *Rules[T], c *store.Change[T]) bool {
	if c.Reason != store.Live {
		return false // there may have been other changes in between
	}
	if c.ResourceVersion != "" && slices.Contains(e.versions, c.ResourceVersion) {
		return true
	}
	return c.Type == store.Deleted && e.removed(r.UID(c.Old)) >= 0
}

// removed returns the index of the removal with a UID, or -1.
func (e *entry[T]) removed(uid types.UID) int {
	return slices.IndexFunc(e.removals, func(m removal) bool { return m.uid == uid })
}

// withVersion returns versions with that of another write.
func withVersion(versions []string, version string) []string {
	versions = append(slices.Clip(versions), version)
	return versions[max(0, len(versions)-maxVersions):]
}
