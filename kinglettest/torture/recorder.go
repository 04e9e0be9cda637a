package torture

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// Recorder is a handler that records its calls, and what the store had at that moment.
type Recorder struct {
	Name string
	// slow is the longest time of a call; stalled waits until released.
	slow time.Duration
	// every: the handler asks for every version, if the engine has that.
	every bool
	rnd   *rand.Rand
	world *world

	mu sync.Mutex
	// The fields below are guarded by mu.

	events []event
	// knows has the last version that the handler received, by name.
	knows map[string]version
	reg   Registration
	// lied are the calls for objects of the initial list that came after the
	// registration had reported that it has synced.
	lied []string
	// calling counts the calls under way, over is set once Run has returned, and late
	// counts calls after that.
	calling int
	over    bool
	late    int
}

// event is one call of a handler.
type event struct {
	kind    string // add, update, delete
	key     types.NamespacedName
	old     version // of an update
	now     version
	initial bool
	unknown bool // final state unknown
	// held is what the store had under the key; zero if nothing.
	held version
	// at is the version that the store had reached.
	at   string
	when time.Time
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

// shortUID returns as much of a UID as distinguishes the few objects of one key.
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
	r.world.prints.take(old)
	r.record(event{kind: "update", old: versionOf(old), now: versionOf(o)}, o)
}

// Delete records a call of OnDelete.
func (r *Recorder) Delete(o Object, unknown bool) {
	r.record(event{kind: "delete", now: versionOf(o), unknown: unknown}, o)
}

func (r *Recorder) record(e event, o Object) {
	w := r.world
	e.key, e.when = types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, time.Now()
	if held, ok := w.inf.Get(o.Namespace, o.Name); ok {
		e.held = versionOf(held)
	}
	e.at = w.inf.ResourceVersion()
	w.prints.take(o)
	nap, reg, n := r.note(e)
	if w.engine.Snapshots && n%4 == 0 {
		w.glance()
	}
	r.sleep(nap)
	lied := e.initial && reg.Synced != nil && reg.Synced()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calling--
	if lied {
		r.lied = append(r.lied, e.String())
	}
}

// note records an event, and returns how long the call is to take.
func (r *Recorder) note(e event) (nap time.Duration, reg Registration, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calling++
	if r.over {
		r.late++
	}
	r.events = append(r.events, e)
	if e.kind == "delete" {
		delete(r.knows, e.key.Name)
	} else {
		r.knows[e.key.Name] = e.now
	}
	if nap = r.slow; nap > 0 && nap < stalled {
		nap = time.Duration(r.rnd.Int64N(int64(nap)))
	}
	return nap, r.reg, len(r.events)
}

// sleep waits on the bubble's clock.
func (r *Recorder) sleep(nap time.Duration) {
	switch {
	case nap == stalled:
		<-r.world.released
	case nap > 0:
		testbubble.Pass(nap)
	}
}

// registered stores what AddHandler returned.
func (r *Recorder) registered(reg Registration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reg = reg
}

// told returns what was recorded. The informer must have ended.
func (r *Recorder) told() (events []event, lied []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events, r.lied
}

// printOf returns a fingerprint of an object's whole content.
func printOf(o Object) uint64 {
	h := fnv.New64a()
	raw, err := o.Marshal()
	if err != nil {
		return 0
	}
	_, _ = h.Write(raw) // a hash does not fail
	return h.Sum64()
}

// prints has every object that a handler or a reader saw, and its content at that time.
type prints struct {
	mu  sync.Mutex
	was map[Object]print // guarded by mu
}

// print is the content of an object when it was first seen.
type print struct {
	of  version
	key types.NamespacedName
	sum uint64
}

// take records the content of an object.
func (p *prints) take(o Object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.was[o]; !ok {
		p.was[o] = print{versionOf(o), types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, printOf(o)}
	}
}

// checkPrints checks that every object that was seen equals the server's, and has not
// changed since.
func (w *world) checkPrints(t *truth) {
	w.prints.mu.Lock()
	defer w.prints.mu.Unlock()
	for o, was := range w.prints.was {
		if printOf(o) != was.sum {
			w.violated("8, objects are read-only: %s, first seen as %s, has changed since", was.key.Name, was.of)
		}
		if s, real := t.states[was.key][was.of]; real && s.print != was.sum {
			w.violated("1, equality: %s at %s is not what the server had at that version", was.key.Name, was.of)
		}
	}
}
