package ctrlruntime

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// suspect is something that differs, perhaps only for a moment.
type suspect struct {
	read read
	key  client.ObjectKey
	// what is how it differs, and was is the pair when that began.
	what What
	was  pair
	// failed is the shadow's error, instead of a difference.
	failed error
	// since is when the current difference began, first when the first one did, and
	// next when it is looked at again. restarts counts how often it began anew.
	since, first, next time.Time
	restarts           int
}

// mostSuspects bounds the suspects that are looked at again, and mostRestarts how often
// one may move before it is given up.
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

// suspect makes something be looked at again.
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

// firstLook is the wait before the second look. Each later wait is as long as the
// difference has lasted, but at most an eighth of CompareOptions.Within.
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

// look looks at a suspect again, and reports whether to do so once more.
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
	// An object that differs at one version did so twice: no later event will mend it.
	if what != Changed && lasts < c.opts.Within {
		return true
	}
	if s.read.delivered && c.heldDiffers(ctx, s) {
		return false // the caches hold different objects, which a Get reports
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
