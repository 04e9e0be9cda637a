package deliver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// listener is a handler that checks that what it hears is a legal history.
type listener struct {
	w    *world
	opts HandlerOptions
	// terse: heard is not kept.
	terse bool
	// during is called at the end of each call.
	during func(ctx context.Context, changes []store.Change[*object])

	mu   sync.Mutex
	told map[store.Key]*object
	// done is what told was when the last call returned.
	done   map[store.Key]*object
	lives  map[store.Key]int
	heard  []store.Change[*object]
	inside bool
	// key and since are of the call under way; calls have returned, after took.
	key    store.Key
	since  time.Time
	calls  int
	took   time.Duration
	errs   []error
	counts map[store.Reason]int
}

func newListener(w *world, opts HandlerOptions) *listener {
	return &listener{
		w: w, opts: opts,
		told: map[store.Key]*object{}, done: map[store.Key]*object{}, lives: map[store.Key]int{}, counts: map[store.Reason]int{},
	}
}

func (l *listener) handle(ctx context.Context, changes []store.Change[*object]) {
	l.mu.Lock()
	if l.inside {
		l.failLocked("called while a call is under way")
	}
	l.inside, l.key, l.since = true, changes[0].Key, time.Now()
	l.batchLocked(changes)
	for i := range changes {
		l.hearLocked(&changes[i])
	}
	l.mu.Unlock()
	if l.during != nil {
		l.during(ctx, changes)
	}
	l.mu.Lock()
	l.inside = false
	l.calls++
	l.took += time.Since(l.since)
	for _, c := range changes {
		l.done[c.Key] = l.told[c.Key]
	}
	l.mu.Unlock()
}

func (l *listener) failLocked(format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf(format, args...))
}

func (l *listener) batchLocked(changes []store.Change[*object]) {
	most := l.opts.MaxBatch
	if most == 0 {
		most = DefaultMaxBatch
	}
	if len(changes) == 0 || len(changes) > most {
		l.failLocked("called with %d changes, at most %d were asked for", len(changes), most)
	}
	if l.opts.EveryVersion {
		return
	}
	last := map[store.Key]store.ChangeType{}
	for _, c := range changes {
		before, again := last[c.Key]
		if again && !(before == store.Deleted && c.Type == store.Added) {
			l.failLocked("%v and %v of %s in one call", before, c.Type, c.Key)
		}
		last[c.Key] = c.Type
	}
}

func (l *listener) hearLocked(c *store.Change[*object]) {
	if l.counts[c.Reason]++; c.Reason != store.Resync && !l.terse {
		l.heard = append(l.heard, *c)
	}
	told := l.told[c.Key]
	switch c.Type {
	case store.Added:
		switch {
		case told != nil:
			l.failLocked("Added %v, but was told of %v", c.New, told)
		case c.Old != nil || c.New == nil:
			l.failLocked("Added has Old %v and New %v", c.Old, c.New)
		case c.New.life <= l.lives[c.Key]:
			l.failLocked("Added %v, but was told of life %d", c.New, l.lives[c.Key])
		}
		l.lives[c.Key] = c.New.life
	case store.Updated:
		switch {
		case told == nil || c.Old != told:
			l.failLocked("Updated from %v (%v), but was told of %v", c.Old, c.Reason, told)
		case c.Reason == store.Resync && c.New != told:
			l.failLocked("Resync of %v, but was told of %v", c.New, told)
		case c.Reason != store.Resync && (c.New.life != told.life || c.New.version <= told.version):
			l.failLocked("Updated from %v to %v", told, c.New)
		}
	case store.Deleted:
		switch {
		case told == nil:
			l.failLocked("Deleted %v, but was never told of it", c.Old)
		case c.New != nil || c.Old == nil || c.Old.life != told.life || c.Old.version < told.version:
			l.failLocked("Deleted %v, but was told of %v", c.Old, told)
		case c.Last != told:
			l.failLocked("Deleted has Last %v, but was told of %v", c.Last, told)
		case l.w.isUnknown(c.Old) != c.FinalStateUnknown:
			l.failLocked("Deleted %v with FinalStateUnknown %v", c.Old, c.FinalStateUnknown)
		}
	default:
		l.failLocked("change of type %v", c.Type)
	}
	l.told[c.Key] = c.New
	if c.New == nil {
		delete(l.told, c.Key)
	}
	l.storeIsNotBehindLocked(c)
}

// storeIsNotBehindLocked checks that the store shows c or something later.
func (l *listener) storeIsNotBehindLocked(c *store.Change[*object]) {
	now, ok := l.w.get(c.Key)
	switch {
	case !ok && c.New != nil && !l.w.hasEnded(c.New):
		l.failLocked("told of %v, which the store does not have yet", c.New)
	case ok && c.New != nil && now.version < c.New.version:
		l.failLocked("told of %v, while the store has %v", c.New, now)
	case ok && c.New == nil && now.life <= c.Old.life:
		l.failLocked("told of the end of %v, while the store has %v", c.Old, now)
	}
}

func (w *world) isUnknown(o *object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unknown[object{key: o.key, life: o.life}]
}

func (w *world) hasEnded(o *object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ended := w.unknown[object{key: o.key, life: o.life}]
	return ended
}

// count returns how many changes were heard for this reason.
func (l *listener) count(why store.Reason) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[why]
}

// problems returns what was not legal.
func (l *listener) problems() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.errs...)
}

// settled returns what is wrong with the state that the listener ended up
// with, which is to equal the world's.
func (l *listener) settled() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	errs := l.errs
	if !maps.Equal(l.told, l.w.objects) {
		errs = append(errs, fmt.Errorf("was told of %v, there is %v", l.told, l.w.objects))
	}
	if l.opts.EveryVersion {
		errs = append(errs, l.everyVersionLocked())
	}
	return errors.Join(errs...)
}

func (l *listener) expectSettled(t *testing.T) {
	t.Helper()
	if err := l.settled(); err != nil {
		t.Error(err)
	}
}

// everyVersionLocked checks that what was heard beside the initial state is the end of the world's history without gaps. It does not hold for
// a listener that fell behind its bound.
func (l *listener) everyVersionLocked() error {
	var live []store.Change[*object]
	for _, c := range l.heard {
		if c.Reason != store.Initial {
			live = append(live, c)
		}
	}
	if len(live) > len(l.w.history) {
		return fmt.Errorf("heard %d changes, %d happened", len(live), len(l.w.history))
	}
	end := l.w.history[len(l.w.history)-len(live):]
	for i := range live {
		if live[i] != end[i] {
			return fmt.Errorf("heard %+v, where %+v happened", live[i], end[i])
		}
	}
	return nil
}
