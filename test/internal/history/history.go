// Package history has a handler for tests, which checks that what it is told is a legal
// history (guarantee 4), and keeps what that adds up to.
package history

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// Objects are the objects of one collection, by key.
type Objects = map[kinglet.Key]metav1.Object

// History checks the calls of one handler: for each key an Add, any number of Updates
// that do not go backwards, and a Delete. It can be stalled. [Typed] and [Plain] are
// handlers for it.
type History struct {
	Name string

	mu    sync.Mutex
	last  Objects       // guarded by mu
	told  uint64        // guarded by mu
	wrong []string      // guarded by mu; the first few
	gate  chan struct{} // guarded by mu; calls wait until it is closed. nil: open
	// arrived is signalled after every call.
	arrived *sync.Cond
}

// New returns a History without calls.
func New(name string) *History {
	h := &History{Name: name, last: Objects{}}
	h.arrived = sync.NewCond(&h.mu)
	return h
}

// Stall makes calls wait until release is called.
func (h *History) Stall() (release func()) {
	gate := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = gate
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.gate = nil
		close(gate)
	}
}

// enter waits while the History is stalled, and takes the lock.
func (h *History) enter() {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	if gate != nil {
		<-gate
	}
	h.mu.Lock()
	h.told++
}

func (h *History) leave() {
	h.arrived.Broadcast()
	h.mu.Unlock()
}

func (h *History) added(obj metav1.Object) {
	h.enter()
	defer h.leave()
	key := KeyOf(obj)
	if held := h.last[key]; held != nil {
		h.blameLocked("added %s (%s), which it had (%s)", key, Version(obj), Version(held))
	}
	h.last[key] = obj
}

func (h *History) updated(old, obj metav1.Object) {
	h.enter()
	defer h.leave()
	key := KeyOf(obj)
	switch held := h.last[key]; {
	case held == nil:
		h.blameLocked("updated %s to %s, which it did not have", key, Version(obj))
	case held.GetUID() != obj.GetUID():
		h.blameLocked("updated %s from %s to %s, which is another object", key, Version(held), Version(obj))
	case old != held:
		h.blameLocked("updated %s from %s, last told %s", key, Version(old), Version(held))
	case Older(obj, held):
		h.blameLocked("updated %s backwards, %s to %s", key, Version(held), Version(obj))
	}
	h.last[key] = obj
}

// deleted checks that last, if it is not nil, is what the handler was told last.
func (h *History) deleted(key kinglet.Key, last metav1.Object) {
	h.enter()
	defer h.leave()
	switch held := h.last[key]; {
	case held == nil:
		h.blameLocked("deleted %s, which it did not have", key)
	case last != nil && last != held:
		h.blameLocked("deleted %s after %s, last told %s", key, Version(last), Version(held))
	}
	delete(h.last, key)
}

func (h *History) blameLocked(format string, args ...any) {
	if len(h.wrong) < 20 {
		h.wrong = append(h.wrong, h.Name+" was told: "+fmt.Sprintf(format, args...))
	}
}

// Compare returns where the History differs from its informer's store, which must have
// the same pointers, and what was wrong with its calls.
func (h *History) Compare(held Objects) (differ, wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, obj := range held {
		switch last := h.last[key]; {
		case last == nil:
			differ = append(differ, fmt.Sprintf("%s was not told of %s", h.Name, key))
		case last != obj:
			differ = append(differ, fmt.Sprintf("%s was told of %s at %s, the store has %s", h.Name, key, Version(last), Version(obj)))
		}
	}
	for key := range h.last {
		if held[key] == nil {
			differ = append(differ, fmt.Sprintf("%s was not told that %s is gone", h.Name, key))
		}
	}
	return differ, h.wrong
}

// Wrong returns what was wrong with the calls.
func (h *History) Wrong() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wrong
}

// Told returns the number of calls, and of the objects that they add up to.
func (h *History) Told() (calls uint64, objects int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told, len(h.last)
}

// Until blocks until ok reports true of what the handler was told, or ctx ends. It asks
// again after every call.
func (h *History) Until(ctx context.Context, what string, ok func(last Objects) bool) error {
	stop := context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.arrived.Broadcast()
	})
	defer stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for !ok(h.last) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: never %s; has %d objects, was told %d times: %w", h.Name, what, len(h.last), h.told, context.Cause(ctx))
		}
		h.arrived.Wait()
	}
	return nil
}

// KeyOf returns the key of an object.
func KeyOf(obj metav1.Object) kinglet.Key {
	return kinglet.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// Version describes the version of an object.
func Version(obj metav1.Object) string {
	uid := string(obj.GetUID())
	return uid[:min(len(uid), 8)] + "@" + obj.GetResourceVersion()
}

// Older reports whether a is of an older version than b.
func Older(a, b metav1.Object) bool {
	order, ok := resourceversion.Compare(a.GetResourceVersion(), b.GetResourceVersion())
	return ok && order < 0
}

// Typed is a History as a handler of a typed informer.
type Typed[T metav1.Object] struct{ *History }

// Handle implements kinglet.Handler.
func (h Typed[T]) Handle(_ context.Context, changes []kinglet.Change[T]) {
	for i := range changes {
		switch c := &changes[i]; c.Type {
		case kinglet.Added:
			h.added(c.New)
		case kinglet.Updated:
			h.updated(c.Old, c.New)
		case kinglet.Deleted:
			h.deleted(c.Key, c.Last)
		}
	}
}

// Plain is a History as a handler of the drop-in's.
type Plain struct{ *History }

var _ cache.ResourceEventHandler = Plain{}

// OnAdd implements cache.ResourceEventHandler.
func (h Plain) OnAdd(obj any, _ bool) { h.added(obj.(metav1.Object)) }

// OnUpdate implements cache.ResourceEventHandler.
func (h Plain) OnUpdate(old, obj any) { h.updated(old.(metav1.Object), obj.(metav1.Object)) }

// OnDelete implements cache.ResourceEventHandler.
func (h Plain) OnDelete(obj any) {
	if gone, unknown := obj.(cache.DeletedFinalStateUnknown); unknown {
		obj = gone.Obj
	}
	h.deleted(KeyOf(obj.(metav1.Object)), nil)
}
