package conformance

import (
	"sync"

	kc "k8s.io/client-go/tools/cache"
)

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

func flagged(initial bool) string {
	if initial {
		return " initial"
	}
	return ""
}
