package conformance

import (
	"sync"
	"testing"

	kc "k8s.io/client-go/tools/cache"
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

// recorder is a handler that remembers what it was told, in words:
//
//	add ns/a@1 initial
//	update ns/a@1 to ns/a@2
//	delete ns/a@3
//	delete ns/a@2, final state unknown
type recorder struct {
	// before, if set, is called at the beginning of each call, without the lock.
	before func(what string)

	logbook
	mu   sync.Mutex
	objs []any // what was added, and the new side of updates; guarded by mu
}

func (r *recorder) record(obj any, what string) {
	if r.before != nil {
		r.before(what)
	}
	r.write(what)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objs = append(r.objs, obj)
}

func (r *recorder) OnAdd(obj any, initial bool) {
	what := "add " + describe(obj)
	if initial {
		what += " initial"
	}
	r.record(obj, what)
}

func (r *recorder) OnUpdate(before, after any) {
	r.record(after, "update "+describe(before)+" to "+describe(after))
}

func (r *recorder) OnDelete(obj any) {
	if unknown, ok := obj.(kc.DeletedFinalStateUnknown); ok {
		r.record(unknown.Obj, "delete "+describe(unknown.Obj)+", final state unknown")
		return
	}
	r.record(obj, "delete "+describe(obj))
}

// objects returns the objects of the adds and updates since the last call.
func (r *recorder) objects() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.objs
	r.objs = nil
	return list
}
