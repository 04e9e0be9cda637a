package faults_test

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// recorder is a handler that writes down what it is told, and what of that was
// no legal history: an Add, any number of Updates, a Delete for each key; no
// version twice, none older than the one before; the store never behind.
type recorder struct {
	mu      sync.Mutex
	inf     informer
	lines   []string          // guarded by mu
	knows   map[string]object // guarded by mu
	newest  map[string]int64  // guarded by mu: the last version told, by name
	shown   int64             // guarded by mu: the newest version of the store that was seen
	again   bool              // guarded by mu: one version may be told twice
	stalls  time.Duration     // guarded by mu: how long the next update takes
	illegal []string          // guarded by mu
}

func newRecorder(inf informer) *recorder {
	return &recorder{inf: inf, knows: map[string]object{}, newest: map[string]int64{}}
}

// number is a resource version, as the server counts them.
func number(rv string) int64 {
	n, _ := strconv.ParseInt(rv, 10, 64)
	return n
}

func (r *recorder) add(o object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("add %s=%s", o.Name, o.Data["value"])
	if was := r.knows[o.Name]; was != nil {
		r.wrong("%s, and it was known at %s", line, was.ResourceVersion)
	}
	r.tell(line, o)
	r.knows[o.Name] = o
}

// stall has the next update take so long.
func (r *recorder) stall(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stalls = d
}

func (r *recorder) stalled() {
	r.mu.Lock()
	d := r.stalls
	r.stalls = 0
	r.mu.Unlock()
	if d > 0 {
		testbubble.Pass(d)
	}
}

func (r *recorder) update(old, o object) {
	r.stalled()
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("update %s=%s", o.Name, o.Data["value"])
	switch was := r.knows[o.Name]; {
	case was == nil:
		r.wrong("%s, and none was known", line)
	case was.ResourceVersion != old.ResourceVersion:
		r.wrong("%s from %s, and it was known at %s", line, old.ResourceVersion, was.ResourceVersion)
	case was.UID != o.UID:
		r.wrong("%s, which is another object", line)
	}
	r.tell(line, o)
	r.knows[o.Name] = o
}

func (r *recorder) delete(o object, unknown bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := "delete " + o.Name
	if unknown {
		line += " unseen"
	}
	if r.knows[o.Name] == nil {
		r.wrong("%s, and none was known", line)
	}
	r.lines = append(r.lines, line)
	delete(r.knows, o.Name)
	r.look(line)
}

// tell writes down an Add or an Update; mu is held.
func (r *recorder) tell(line string, o object) {
	n := number(o.ResourceVersion)
	switch last := r.newest[o.Name]; {
	case n < last:
		r.wrong("%s at %d, after version %d", line, n, last)
	case n == last && !r.again:
		r.wrong("%s at %d for the second time", line, n)
	}
	r.newest[o.Name] = n
	r.lines = append(r.lines, line)
	r.look(line)
}

// look sees to it that the store does not go back; mu is held.
func (r *recorder) look(when string) {
	n := number(r.inf.ResourceVersion())
	if n < r.shown {
		r.wrong("the store at %d after %d, when told %s", n, r.shown, when)
	}
	r.shown = max(r.shown, n)
}

func (r *recorder) wrong(format string, args ...any) {
	r.illegal = append(r.illegal, fmt.Sprintf(format, args...))
}

// repeats allows that a version is told twice.
func (r *recorder) repeats() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again = true
}

// restored forgets which versions there were: those that follow may be older.
func (r *recorder) restored() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.newest)
	r.shown = 0
}

// take returns what was told since the last take.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

func (r *recorder) crimes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.illegal
}
