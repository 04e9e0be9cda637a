package torture_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// ownTruth is what really was, and the naive twin of reads that include own
// writes: a read may show a state of a key if that was still the latest one at
// some revision which is not before any of these:
//
//   - what the informer had been told that the program wrote of this key,
//   - what any read showed of it that had ended before,
//   - the version that the store said it was at.
type ownTruth struct {
	selects bool

	mu sync.Mutex
	// What follows is guarded by mu.

	// states are all states of a name, the oldest first.
	states map[string][]ownState
	// least is the revision that reads of a name must have come to: by what was
	// told, and by what was seen.
	least map[string]int64
	// tellings are the versions that the informer is or was told of, ends the
	// UIDs of which it is told that they were deleted, and banned those that may
	// not be shown again.
	tellings map[string]bool
	ends     map[types.UID]bool
	banned   map[types.UID]bool
	// heard is what the folding handler was told last, by name.
	heard map[string]int64
	// paused: the storage has been restored, and the informer has not followed.
	paused bool
	wrong  []string
}

// ownState is one state of a name.
type ownState struct {
	revision int64
	version  string
	uid      types.UID
	// there: it is in the informer's collection.
	there bool
}

// ownWrite is a write that the server has answered.
type ownWrite struct {
	name     string
	revision int64
	uid      types.UID
	obj      configMap
	// deleted: the answer was that to a delete, and the object is gone.
	deleted bool
	// gone: there is no object any more, whatever the answer was.
	gone bool
	// known: reads showed the object, or another of its states, at the time.
	known bool
	shown bool
}

func (w *ownWrite) String() string {
	return fmt.Sprintf("%s@%d (%s, deleted: %v, gone: %v)", w.name, w.revision, w.uid, w.deleted, w.gone)
}

func (t *ownTruth) init(selects bool) {
	t.selects = selects
	t.states, t.least, t.heard = map[string][]ownState{}, map[string]int64{}, map[string]int64{}
	t.tellings, t.ends, t.banned = map[string]bool{}, map[types.UID]bool{}, map[types.UID]bool{}
}

func (t *ownTruth) violated(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.violatedLocked(format, args...)
}

func (t *ownTruth) violatedLocked(format string, args ...any) {
	if len(t.wrong) < 30 {
		t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
	}
}

// write makes a write and writes down what it led to; nil if the server refused
// it or nothing changed.
func (t *ownTruth) write(storage *apiserver.Storage, name string, do func() (runtime.Object, bool)) *ownWrite {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := storage.Revision()
	answer, deleted := do()
	if answer == nil {
		return nil
	}
	obj := answer.(configMap)
	if name == "last" {
		name = obj.Name
	}
	w := &ownWrite{name: name, revision: number(obj.ResourceVersion), uid: obj.UID, obj: obj}
	w.gone = obj.DeletionTimestamp == nil && deleted && len(obj.Finalizers) == 0 || obj.DeletionTimestamp != nil && len(obj.Finalizers) == 0
	w.deleted = deleted && w.gone
	after := storage.Revision()
	if after == before {
		return w // an update that changed nothing is answered as well
	}
	// The answer to the update that removes the last finalizer has an earlier version.
	w.revision = after
	t.states[name] = append(t.states[name], ownState{
		revision: w.revision, version: strconv.FormatInt(w.revision, 10), uid: obj.UID,
		there: !w.gone && (!t.selects || obj.Labels["in"] == "yes"),
	})
	return w
}

// telling notes that the informer is about to be told, while reads show an object
// with a UID of the name, or none.
func (t *ownTruth) telling(w *ownWrite, shown types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellings[strconv.FormatInt(w.revision, 10)] = true
	if w.gone {
		t.ends[w.uid] = true
	}
	w.shown, w.known = shown != "", shown == w.uid
}

// told notes that the informer was told; still says that nothing was applied
// meanwhile.
func (t *ownTruth) told(w *ownWrite, still bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	there := !t.selects || w.obj.Labels["in"] == "yes"
	switch {
	case w.gone:
		t.banned[w.uid] = true
		// Of an object that nobody has seen it cannot be known whether what is
		// held comes before it or after.
		if !w.known || !still || t.enteredAgainLocked(w.name, w.uid) {
			return
		}
	case !there && (!w.shown || !still):
		return // it is removed if it was shown
	}
	t.least[w.name] = max(t.least[w.name], w.revision)
}

// enteredAgainLocked reports whether an object left the informer's selector and
// came back. A watch tells of both ends in the same words, so that an end in
// between may be taken for the last one.
func (t *ownTruth) enteredAgainLocked(name string, uid types.UID) bool {
	entered, was := 0, false
	for _, s := range t.states[name] {
		if s.uid != uid {
			continue
		}
		if s.there && !was {
			entered++
		}
		was = s.there
	}
	return entered > 1
}

// floor is the revision that a read that begins now must have come to.
func (t *ownTruth) floor(name string, at int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.least[name], at)
}

// floors is floor for every name.
func (t *ownTruth) floors() map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.least)
}

// check holds what a read showed of a name against what was. At is the version
// that a snapshot says it is of, -1 for a read of the latest state.
func (t *ownTruth) check(read, name string, obj configMap, ok bool, least, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused {
		return
	}
	least = max(least, at)
	states := t.states[name]
	if !ok {
		t.checkAbsentLocked(read, name, states, least, at)
		return
	}
	i, found := slices.BinarySearchFunc(states, number(obj.ResourceVersion), func(s ownState, rev int64) int { return cmp.Compare(s.revision, rev) })
	switch end := endOf(states, i); {
	case !found || states[i].uid != obj.UID:
		t.violatedLocked("%s: %s shows %s (%s), which never was", read, name, obj.ResourceVersion, obj.UID)
	case !states[i].there:
		t.violatedLocked("%s: %s shows %s, which is not in the collection", read, name, obj.ResourceVersion)
	case t.banned[obj.UID] && !t.enteredAgainLocked(name, obj.UID):
		t.violatedLocked("%s: %s shows %s (%s) at %d, which the program has deleted: %+v", read, name, obj.ResourceVersion, obj.UID, at, states[i:])
	case end <= least:
		t.violatedLocked("%s: %s shows %s, which ended with %d, and had to be at %d: %+v; told %v", read, name, obj.ResourceVersion, end, least, states[i:], t.tellings[strconv.FormatInt(least, 10)])
	case at >= 0 && states[i].revision > at && !t.tellings[obj.ResourceVersion]:
		t.violatedLocked("%s: %s shows %s at version %d, and nobody has told of it", read, name, obj.ResourceVersion, at)
	default:
		t.least[name] = max(t.least[name], states[i].revision)
	}
}

// checkAbsentLocked is check for a name of which nothing is shown.
func (t *ownTruth) checkAbsentLocked(read, name string, states []ownState, least, at int64) {
	if len(states) == 0 || states[0].revision > least {
		return // there was nothing yet
	}
	for i := range states {
		if states[i].there || endOf(states, i) <= least {
			continue
		}
		// It may have ended more than once, out of sight in between.
		if !slices.ContainsFunc(states[i:], func(s ownState) bool {
			return !s.there && (s.revision <= at || at < 0 || t.ends[s.uid] || t.tellings[s.version])
		}) {
			t.violatedLocked("%s: %s is absent at version %d, and nobody has told that it ended with %d", read, name, at, states[i].revision)
		}
		t.least[name] = max(t.least[name], states[i].revision)
		return
	}
	t.violatedLocked("%s: %s is absent, and had to be at %d: %v", read, name, least, states[max(0, len(states)-5):])
}

// endOf is the revision at which a state was the latest no more.
func endOf(states []ownState, i int) int64 {
	if i+1 < len(states) {
		return states[i+1].revision
	}
	return math.MaxInt64
}

// change holds what a handler was told against what was: of its own echoes every
// version must have been told.
func (t *ownTruth) change(c *kinglet.Change[configMap], every bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	name, to := c.Key.Name, number(c.ResourceVersion)
	from := to - 1
	if !every {
		from = t.heard[name]
		t.heard[name] = to
	}
	if !c.OwnEcho || t.paused {
		return
	}
	obj := c.New
	if c.Type == kinglet.Deleted {
		obj = c.Old
	}
	// What came and went unheard is no part of the change.
	for _, s := range slices.Backward(t.states[name]) {
		switch {
		case s.revision > to:
			continue
		case s.revision <= from, s.uid != obj.UID, !s.there && s.revision != to:
			return
		case !t.tellings[s.version] && !t.ends[s.uid]:
			t.violatedLocked("a handler (every version: %v) was told %v of %s at %d as the program's own, and %s was somebody else's", every, c.Type, name, to, s.version)
		}
	}
}

// restored takes away what came after a backup. Until begin nothing is checked.
func (t *ownTruth) restored(backup int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = true
	for name, states := range t.states {
		i, _ := slices.BinarySearchFunc(states, backup+1, func(s ownState, rev int64) int { return cmp.Compare(s.revision, rev) })
		t.states[name] = states[:i]
		t.heard[name] = min(t.heard[name], backup)
	}
}

// begin forgets what was told and seen before the storage was restored.
func (t *ownTruth) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused = false
	clear(t.least)
	clear(t.tellings)
	clear(t.ends)
	clear(t.banned)
}
