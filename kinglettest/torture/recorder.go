package torture

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Recorder is a handler that writes down what it is told, and what the store
// showed at that moment.
type Recorder struct {
	Name string
	// slow is how long a call may take.
	slow time.Duration
	rnd  *rand.Rand
	inf  Informer

	mu     sync.Mutex
	events []event     // guarded by mu
	synced func() bool // guarded by mu
	// lied are the calls about objects of the initial list that came after the
	// registration had said that it was synced. Guarded by mu.
	lied []string
}

// event is one call of a handler.
type event struct {
	kind    string // add, update, delete
	key     types.NamespacedName
	old     version // of an update
	now     version
	initial bool
	unknown bool // final state unknown
	// held is what the store had under the key; the zero value is nothing.
	held version
	// at is the version that the store said it had come to.
	at string
}

// version is one version of one object.
type version struct {
	uid types.UID
	rv  string
}

func (v version) String() string {
	if v.rv == "" {
		return "nothing"
	}
	return fmt.Sprintf("%s@%s", shortUID(v.uid), v.rv)
}

// shortUID is enough to tell the few objects of one key apart.
func shortUID(uid types.UID) string { return string(uid[:min(len(uid), 4)]) }

func (e event) String() string {
	s := fmt.Sprintf("%s %s %s", e.kind, e.key.Name, e.now)
	if e.kind == "update" {
		s = fmt.Sprintf("update %s %s → %s", e.key.Name, e.old, e.now)
	}
	if e.initial {
		s += " initial"
	}
	if e.unknown {
		s += " unknown"
	}
	return s + fmt.Sprintf(" (store has %s, is at %s)", e.held, e.at)
}

func versionOf(o Object) version {
	if o == nil {
		return version{}
	}
	return version{o.UID, o.ResourceVersion}
}

// Add records a call of OnAdd.
func (r *Recorder) Add(o Object, initial bool) {
	r.record(event{kind: "add", now: versionOf(o), initial: initial}, o)
}

// Update records a call of OnUpdate.
func (r *Recorder) Update(old, o Object) {
	r.record(event{kind: "update", old: versionOf(old), now: versionOf(o)}, o)
}

// Delete records a call of OnDelete.
func (r *Recorder) Delete(o Object, unknown bool) {
	r.record(event{kind: "delete", now: versionOf(o), unknown: unknown}, o)
}

func (r *Recorder) record(e event, o Object) {
	e.key = types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	if held, ok := r.inf.Get(o.Namespace, o.Name); ok {
		e.held = versionOf(held)
	}
	e.at = r.inf.ResourceVersion()
	r.mu.Lock()
	r.events = append(r.events, e)
	synced := r.synced
	var nap time.Duration
	if r.slow > 0 {
		nap = time.Duration(r.rnd.Int64N(int64(r.slow)))
	}
	r.mu.Unlock()
	if nap > 0 {
		time.Sleep(nap) // in the bubble's time
	}
	if e.initial && synced != nil && synced() {
		r.mu.Lock()
		r.lied = append(r.lied, e.String())
		r.mu.Unlock()
	}
}

// told is what was recorded.
func (r *Recorder) told() (events []event, lied []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events, r.lied
}
