package conformance

import (
	"slices"
	"sync"
	"testing"

	kc "k8s.io/client-go/tools/cache"
)

// recorder is a handler that remembers what it was told, in words:
//
//	add ns/a@1 initial
//	update ns/a@1 to ns/a@2
//	delete ns/a@3
//	delete ns/a@2, final state unknown
type recorder struct {
	// before, where set, is called at the beginning of each call, without lock.
	before func(what string)

	mu   sync.Mutex
	log  []string // guarded by mu
	objs []any    // what was added, and the new side of updates; guarded by mu
}

func (r *recorder) record(obj any, what string) {
	if r.before != nil {
		r.before(what)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, what)
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

// take returns what was recorded since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log, r.objs = nil, nil
	return log
}

// objects returns the objects of what take would return.
func (r *recorder) objects() []any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.objs)
}

// told checks what was recorded since the last look, in order.
func (r *recorder) told(t *testing.T, want ...string) {
	t.Helper()
	same(t, "the handler was told", r.take(), want...)
}

// toldInAnyOrder checks what was recorded since the last look.
func (r *recorder) toldInAnyOrder(t *testing.T, want ...string) {
	t.Helper()
	same(t, "the handler was told", sorted(r.take()), sorted(want)...)
}
