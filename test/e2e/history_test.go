//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
)

// history is a handler that checks guarantee 4 as it goes and keeps what it
// was told last of each pod.
type history struct {
	name string

	mu         sync.Mutex
	last       map[kinglet.Key]*corev1.Pod // guarded by mu
	violations []string                    // guarded by mu
	counts     map[kinglet.ChangeType]int  // guarded by mu
	told       map[types.UID]struct{}      // guarded by mu; every pod ever added
	// arrived is signalled after every batch.
	arrived *sync.Cond
}

func newHistory(name string) *history {
	h := &history{
		name:   name,
		last:   map[kinglet.Key]*corev1.Pod{},
		counts: map[kinglet.ChangeType]int{},
		told:   map[types.UID]struct{}{},
	}
	h.arrived = sync.NewCond(&h.mu)
	return h
}

func (h *history) Handle(_ context.Context, changes []kinglet.Change[*corev1.Pod]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range changes {
		h.takeLocked(&changes[i])
	}
	h.arrived.Broadcast()
}

func (h *history) takeLocked(c *kinglet.Change[*corev1.Pod]) {
	h.counts[c.Type]++
	held, known := h.last[c.Key]
	switch c.Type {
	case kinglet.Added:
		if known {
			h.violateLocked("Added %s, which it had", c.Key)
		}
		h.last[c.Key] = c.New
		h.told[c.New.UID] = struct{}{}
	case kinglet.Updated:
		switch {
		case !known:
			h.violateLocked("Updated %s, which it did not have", c.Key)
		case held.UID != c.New.UID:
			h.violateLocked("Updated %s from uid %s to %s", c.Key, held.UID, c.New.UID)
		case c.Old != held:
			h.violateLocked("Updated %s with an Old at %s, last told %s", c.Key, c.Old.ResourceVersion, held.ResourceVersion)
		case older(c.New, held):
			h.violateLocked("Updated %s backwards, %s to %s", c.Key, held.ResourceVersion, c.New.ResourceVersion)
		}
		h.last[c.Key] = c.New
	case kinglet.Deleted:
		if !known {
			h.violateLocked("Deleted %s, which it did not have", c.Key)
		}
		delete(h.last, c.Key)
	default:
		h.violateLocked("a change of type %d for %s", c.Type, c.Key)
	}
}

func (h *history) violateLocked(format string, args ...any) {
	if len(h.violations) < 20 {
		h.violations = append(h.violations, h.name+": "+fmt.Sprintf(format, args...))
	}
}

// until blocks until ok says yes of what the handler was told, or ctx ends.
func (h *history) until(ctx context.Context, ok func(last map[kinglet.Key]*corev1.Pod) bool) error {
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
			return fmt.Errorf("%s: %w (has %d pods, was told %v)", h.name, context.Cause(ctx), len(h.last), h.counts)
		}
		h.arrived.Wait()
	}
	return nil
}
