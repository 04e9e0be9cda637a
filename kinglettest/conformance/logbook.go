package conformance

import (
	"sync"
	"testing"
)

// logbook records calls as lines. Its writers and readers need no other synchronization:
// for the race detector, time that passes in a bubble orders nothing.
type logbook struct {
	mu  sync.Mutex
	log []string // guarded by mu
}

func (l *logbook) write(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, what)
}

// take returns the lines since the last call.
func (l *logbook) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log
	l.log = nil
	return log
}

// told checks the lines since the last call, in order.
func (l *logbook) told(t *testing.T, want ...string) {
	t.Helper()
	same(t, "told", l.take(), want...)
}

// toldInAnyOrder checks the lines since the last call.
func (l *logbook) toldInAnyOrder(t *testing.T, want ...string) {
	t.Helper()
	same(t, "told", sorted(l.take()), sorted(want)...)
}
