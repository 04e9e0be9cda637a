package conformance

import (
	"sync"
	"testing"
)

// logbook is what was told, in words. Its writers and readers need not
// know of each other: that time has passed in a bubble orders nothing.
type logbook struct {
	mu  sync.Mutex
	log []string // guarded by mu
}

func (l *logbook) write(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, what)
}

// take returns what was written since the last call.
func (l *logbook) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.log
	l.log = nil
	return log
}

// told checks what was written since the last look, in order.
func (l *logbook) told(t *testing.T, want ...string) {
	t.Helper()
	same(t, "told", l.take(), want...)
}

// toldInAnyOrder checks what was written since the last look.
func (l *logbook) toldInAnyOrder(t *testing.T, want ...string) {
	t.Helper()
	same(t, "told", sorted(l.take()), sorted(want)...)
}
