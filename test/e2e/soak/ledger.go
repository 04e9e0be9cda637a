package main

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// objects are the objects of one collection, by name.
type objects map[types.NamespacedName]metav1.Object

// ledger is a handler that checks guarantee 4, and keeps the last state of each object
// that it received. It can be stalled.
type ledger struct {
	name string

	mu    sync.Mutex
	last  objects       // guarded by mu
	told  uint64        // guarded by mu
	wrong []string      // guarded by mu; the first few
	gate  chan struct{} // guarded by mu; calls wait until it is closed. nil: open
}

func newLedger(name string) *ledger { return &ledger{name: name, last: objects{}} }

// stall makes calls wait until release is called.
func (l *ledger) stall() (release func()) {
	gate := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = gate
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.gate = nil
		close(gate)
	}
}

// pass waits while the ledger is stalled. The caller of stall also releases it.
func (l *ledger) pass() {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (l *ledger) added(obj metav1.Object) {
	l.pass()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told++
	key := nameOf(obj)
	if held := l.last[key]; held != nil {
		l.blameLocked("added %s (%s), which it had (%s)", key, version(obj), version(held))
	}
	l.last[key] = obj
}

func (l *ledger) updated(old, obj metav1.Object) {
	l.pass()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told++
	key := nameOf(obj)
	held := l.last[key]
	switch order, ordered := 0, false; {
	case held == nil:
		l.blameLocked("updated %s to %s, which it did not have", key, version(obj))
	case held.GetUID() != obj.GetUID():
		l.blameLocked("updated %s from %s to %s, which is another object", key, version(held), version(obj))
	case old != held:
		l.blameLocked("updated %s from %s, last told %s", key, version(old), version(held))
	default:
		if order, ordered = resourceversion.Compare(obj.GetResourceVersion(), held.GetResourceVersion()); ordered && order < 0 {
			l.blameLocked("updated %s backwards, %s to %s", key, version(held), version(obj))
		}
	}
	l.last[key] = obj
}

func (l *ledger) deleted(key types.NamespacedName) {
	l.pass()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told++
	if l.last[key] == nil {
		l.blameLocked("deleted %s, which it did not have", key)
	}
	delete(l.last, key)
}

func (l *ledger) blameLocked(format string, args ...any) {
	if len(l.wrong) < 10 {
		l.wrong = append(l.wrong, l.name+" was told: "+fmt.Sprintf(format, args...))
	}
}

// compare returns where the ledger differs from its informer's store, which must have the
// same pointers, and what was wrong with its history.
func (l *ledger) compare(held objects) (differ, wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, obj := range held {
		switch last := l.last[key]; {
		case last == nil:
			differ = append(differ, fmt.Sprintf("%s was not told of %s", l.name, key))
		case last != obj:
			differ = append(differ, fmt.Sprintf("%s was told of %s at %s, the store has %s", l.name, key, version(last), version(obj)))
		}
	}
	for key := range l.last {
		if held[key] == nil {
			differ = append(differ, fmt.Sprintf("%s was not told that %s is gone", l.name, key))
		}
	}
	return differ, l.wrong
}

func (l *ledger) count() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told
}

func nameOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// version describes the version of an object.
func version(obj metav1.Object) string {
	uid := string(obj.GetUID())
	return uid[:min(len(uid), 8)] + "@" + obj.GetResourceVersion()
}

// typedLedger is a ledger as a handler of a typed informer.
type typedLedger[T metav1.Object] struct{ *ledger }

// Handle implements kinglet.Handler.
func (h typedLedger[T]) Handle(_ context.Context, changes []kinglet.Change[T]) {
	for i := range changes {
		switch c := &changes[i]; c.Type {
		case kinglet.Added:
			h.added(c.New)
		case kinglet.Updated:
			h.updated(c.Old, c.New)
		case kinglet.Deleted:
			h.deleted(types.NamespacedName{Namespace: c.Key.Namespace, Name: c.Key.Name})
		}
	}
}

// plainLedger is a ledger as a handler of the drop-in's.
type plainLedger struct{ *ledger }

var _ cache.ResourceEventHandler = plainLedger{}

// OnAdd implements cache.ResourceEventHandler.
func (h plainLedger) OnAdd(obj any, _ bool) { h.added(obj.(metav1.Object)) }

// OnUpdate implements cache.ResourceEventHandler.
func (h plainLedger) OnUpdate(old, obj any) { h.updated(old.(metav1.Object), obj.(metav1.Object)) }

// OnDelete implements cache.ResourceEventHandler.
func (h plainLedger) OnDelete(obj any) {
	if gone, unknown := obj.(cache.DeletedFinalStateUnknown); unknown {
		obj = gone.Obj
	}
	h.deleted(nameOf(obj.(metav1.Object)))
}
