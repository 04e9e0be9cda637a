package ctrlruntime

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// clientTruth is a naive model of reads that include own writes: the server's history.
// A read of a key may show a state that was still the latest at some revision which is
// not before what the program had written of the key, nor before what any earlier read
// of the form showed.
type clientTruth struct {
	storage *apiserver.Storage
	// selects reports whether an object is in the cache.
	selects func(client.Object) bool

	mu sync.Mutex
	// What follows is guarded by mu.

	// written are the revisions of own writes, by key; seen are those that reads
	// showed, by form and key.
	written, seen map[string]int64
	// deleted are the UIDs of own deletes.
	deleted map[types.UID]bool
	wrong   []string
}

func newClientTruth(storage *apiserver.Storage, selects func(client.Object) bool) *clientTruth {
	return &clientTruth{storage: storage, selects: selects, written: map[string]int64{}, seen: map[string]int64{}, deleted: map[types.UID]bool{}}
}

func (t *clientTruth) violated(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wrong) < 20 {
		t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
	}
}

// clientState is one state of a key, from one revision until another.
type clientState struct {
	from, to int64
	uid      types.UID
	there    bool
}

// states are all states of a key, the oldest first.
func (t *clientTruth) states(key client.ObjectKey) []clientState {
	all := []clientState{{to: math.MaxInt64}}
	for _, c := range t.storage.History(apiserver.ConfigMaps.GroupResource()) {
		obj := c.Object.(*corev1.ConfigMap)
		if obj.Namespace != key.Namespace || obj.Name != key.Name {
			continue
		}
		all[len(all)-1].to = c.Revision
		all = append(all, clientState{from: c.Revision, to: math.MaxInt64, uid: obj.UID, there: c.Type != watch.Deleted && t.selects(obj)})
	}
	return all
}

// wrote records that a write has returned an object.
func (t *clientTruth) wrote(obj client.Object) {
	rev, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(obj).String()
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
		t.deleted[obj.GetUID()] = true
		return
	}
	if t.selects(obj) {
		t.written[key] = max(t.written[key], rev)
	}
}

// gone records that the delete of an object has returned.
func (t *clientTruth) gone(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deleted[uid] = true
}

// floor returns the revision that a read of a form that begins now must have reached.
func (t *clientTruth) floor(form string, key client.ObjectKey) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.written[key.String()], t.seen[form+" "+key.String()])
}

// hidden returns the UIDs that a read that begins now must not show.
func (t *clientTruth) hidden() map[types.UID]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[types.UID]bool, len(t.deleted))
	for uid := range t.deleted {
		all[uid] = true
	}
	return all
}

// check compares what a read showed of a key, nil if nothing, with the history.
func (t *clientTruth) check(read, form string, key client.ObjectKey, obj client.Object, floor int64, hidden map[types.UID]bool) {
	states := t.states(key)
	if obj == nil {
		i := slices.IndexFunc(states, func(s clientState) bool { return !s.there && s.to > floor })
		if i < 0 {
			t.violated("%s of %s: %s is absent, and had to be at %d: %+v", read, form, key, floor, states)
			return
		}
		t.saw(form, key, states[i].from)
		return
	}
	rev, _ := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
	i := slices.IndexFunc(states, func(s clientState) bool { return s.from == rev && rev > 0 })
	switch {
	case i < 0 || states[i].uid != obj.GetUID() || !states[i].there:
		t.violated("%s of %s: %s shows %d (%s), which never was in the cache: %+v", read, form, key, rev, obj.GetUID(), states)
	case states[i].to <= floor:
		t.violated("%s of %s: %s shows %d, and had to be at %d: %+v", read, form, key, rev, floor, states)
	case hidden[obj.GetUID()] && !leftAndCame(states, obj.GetUID()):
		t.violated("%s of %s: %s shows %d (%s), which the program has deleted: %+v", read, form, key, rev, obj.GetUID(), states)
	default:
		t.saw(form, key, rev)
	}
}

// leftAndCame reports whether an object left the cache and came back: a watch reports
// the leave as a delete.
func leftAndCame(states []clientState, uid types.UID) bool {
	entered, was := 0, false
	for _, s := range states {
		if s.uid == uid {
			if s.there && !was {
				entered++
			}
			was = s.there
		}
	}
	return entered > 1
}

func (t *clientTruth) saw(form string, key client.ObjectKey, rev int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := form + " " + key.String()
	t.seen[at] = max(t.seen[at], rev)
}
