//go:build e2e

package programs

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/cache"
)

// witness is an event handler that checks the history as it goes (Add, any
// number of Updates that do not go backwards, Delete) and keeps what it was
// told last of each object.
type witness struct {
	name string

	mu         sync.Mutex
	last       map[cache.ObjectName]metav1.Object // guarded by mu
	violations []string                           // guarded by mu
	// What it was told of, and how often. guarded by mu
	adds, updates, deletes, unknown int
	// arrived is signalled after every notification.
	arrived *sync.Cond
}

func newWitness(name string) *witness {
	w := &witness{name: name, last: map[cache.ObjectName]metav1.Object{}}
	w.arrived = sync.NewCond(&w.mu)
	return w
}

func (w *witness) OnAdd(obj any, _ bool) {
	o, name := w.enter(obj)
	defer w.leave()
	w.adds++
	if w.last[name] != nil {
		w.violateLocked("Add of %s, which it had", name)
	}
	w.last[name] = o
}

func (w *witness) OnUpdate(oldObj, newObj any) {
	o, name := w.enter(newObj)
	defer w.leave()
	w.updates++
	held := w.last[name]
	switch {
	case held == nil:
		w.violateLocked("Update of %s, which it did not have", name)
	case held.GetUID() != o.GetUID():
		w.violateLocked("Update of %s from UID %s to %s", name, held.GetUID(), o.GetUID())
	case oldObj != any(held):
		w.violateLocked("Update of %s from another object than it was told last", name)
	case newer(held, o.GetResourceVersion()):
		w.violateLocked("Update of %s backwards, %s to %s", name, held.GetResourceVersion(), o.GetResourceVersion())
	}
	w.last[name] = o
}

func (w *witness) OnDelete(obj any) {
	gone, unknown := obj.(cache.DeletedFinalStateUnknown)
	if unknown {
		obj = gone.Obj
	}
	_, name := w.enter(obj)
	defer w.leave()
	w.deletes++
	if unknown {
		w.unknown++
	}
	if w.last[name] == nil {
		w.violateLocked("Delete of %s, which it did not have", name)
	}
	delete(w.last, name)
}

func (w *witness) enter(obj any) (metav1.Object, cache.ObjectName) {
	w.mu.Lock()
	o := obj.(metav1.Object)
	return o, cache.ObjectName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (w *witness) leave() {
	w.arrived.Broadcast()
	w.mu.Unlock()
}

func (w *witness) violateLocked(format string, args ...any) {
	if len(w.violations) < 20 {
		w.violations = append(w.violations, w.name+": "+fmt.Sprintf(format, args...))
	}
}

// until blocks until ok says yes of what the witness was told, or ctx ends. It
// asks again after every notification.
func (w *witness) until(ctx context.Context, what string, ok func(last map[cache.ObjectName]metav1.Object) bool) error {
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.arrived.Broadcast()
	})
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !ok(w.last) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: never %s; has %d objects, was told of %d adds, %d updates, %d deletes: %w",
				w.name, what, len(w.last), w.adds, w.updates, w.deletes, context.Cause(ctx))
		}
		w.arrived.Wait()
	}
	return nil
}
