package ctrlruntime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// suspect is something that differs, and may not do so for long.
type suspect struct {
	read read
	key  client.ObjectKey
	// what differs, and was is what there was when that began.
	what What
	was  pair
	// failed is the shadow's error, instead of a difference.
	failed error
	// since is when it began, first when the first of it did, and next when it is looked
	// at again. restarts counts how often it began anew.
	since, first, next time.Time
	restarts           int
}

// mostSuspects bounds what is looked at again, mostRestarts how often what differs may
// move before it is given up.
const (
	mostSuspects = 256
	mostRestarts = 20
)

type suspects struct {
	mu  sync.Mutex
	all map[string]*suspect // guarded by mu; by id
}

func (s *suspect) id() string {
	return fmt.Sprint(s.read.kind, s.read, s.read.key, s.key)
}

// suspect has something looked at again.
func (c *Comparison) suspect(s suspect) {
	s.since = time.Now()
	s.first, s.next = s.since, s.since.Add(firstLook)
	id := s.id()
	c.suspects.mu.Lock()
	defer c.suspects.mu.Unlock()
	if c.suspects.all == nil {
		c.suspects.all = map[string]*suspect{}
	}
	if _, known := c.suspects.all[id]; known {
		return
	}
	if len(c.suspects.all) == mostSuspects {
		c.counts.undecided.Add(1)
		return
	}
	c.suspects.all[id] = &s
}

// firstLook is when something is looked at for the second time; then after as long as it
// has lasted, and at least eight times until it is a difference.
const firstLook = 100 * time.Millisecond

// followSuspects looks again at what differs.
func (c *Comparison) followSuspects(ctx context.Context) {
	for pause(ctx, firstLook) {
		now := time.Now()
		var due []*suspect
		c.suspects.mu.Lock()
		for _, s := range c.suspects.all {
			if !s.next.After(now) {
				due = append(due, s)
			}
		}
		c.suspects.mu.Unlock()
		for _, s := range due {
			if again := c.look(ctx, s); !again {
				c.suspects.mu.Lock()
				delete(c.suspects.all, s.id())
				c.suspects.mu.Unlock()
			}
		}
	}
}

// look looks at a suspect, and reports whether to do so again.
func (c *Comparison) look(ctx context.Context, s *suspect) bool {
	pairs, shadowErr, ok := c.do(ctx, s.read)
	if !ok || ctx.Err() != nil {
		return false
	}
	now := time.Now()
	lasts := now.Sub(s.since)
	s.next = now.Add(min(max(lasts, firstLook), c.opts.Within/8))
	switch {
	case shadowErr == nil && s.failed != nil:
		c.counts.lagged.Add(1)
		return false
	case shadowErr != nil && s.failed == nil:
		s.failed, s.since = shadowErr, now
		return true
	case s.failed != nil:
		if s.failed = shadowErr; lasts < c.opts.Within {
			return true
		}
		c.report(Difference{What: ShadowFailed, Kind: s.read.kind.GroupVersionKind, Read: s.read.String(), For: lasts, Err: shadowErr})
		return false
	}
	p := pairs[s.key]
	what, path := p.compare()
	if what == 0 {
		c.counts.lagged.Add(1)
		return false
	}
	if what != s.what || p.lags(what, s.was, s.read.list != nil) {
		if s.restarts++; s.restarts > mostRestarts {
			c.counts.undecided.Add(1)
			return false
		}
		s.what, s.was, s.since = what, p, now
		return true
	}
	// What differs at one version has been so twice: nothing is to come that mends it.
	if what != Changed && lasts < c.opts.Within {
		return true
	}
	if s.read.delivered && c.heldDiffers(ctx, s) {
		return false // what is held is a difference, and reported by a Get
	}
	c.report(Difference{
		What: what, Kind: s.read.kind.GroupVersionKind, Key: s.key, Read: s.read.String(), Path: hideValues(s.read.kind, path),
		PrimaryVersion: versionOf(p.primary), ShadowVersion: versionOf(p.shadow), For: now.Sub(s.first),
	})
	return false
}

func versionOf(obj client.Object) string {
	if obj == nil {
		return ""
	}
	return obj.GetResourceVersion()
}
