// Package readthrough keeps objects that are read when somebody asks for them.
package readthrough

import (
	"container/list"
	"context"
	"errors"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/budget"
	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/store"
)

// State is a state of an object: its UID and resource version, and the epoch, which grows
// whenever the same version may stand for another object from then on: the server was
// restored, or what makes an object of what it answers has changed.
type State struct {
	UID     types.UID
	Version string
	Epoch   uint64
}

// serves reports whether an object in a state is as new as another of it.
func (s State) serves(at State) bool {
	if s.UID != at.UID || s.Epoch != at.Epoch {
		return false
	}
	if s.Version == at.Version {
		return true
	}
	order, ok := resourceversion.Compare(s.Version, at.Version)
	return ok && order > 0
}

// Options of a Cache. All but Budget are required.
type Options[T any] struct {
	// Bytes is the most that kept objects may take. About the least recently used go first: the
	// oldest that has not been asked for since it was last spared (the clock, or second chance,
	// algorithm), so that a Get of what is kept takes no lock.
	Bytes int64
	// Budget is what they take it from, as long as nobody else needs it; may be nil.
	Budget *budget.Budget
	// Read reads an object in a state, or a later one. It is called on a goroutine of its
	// own; its context ends once nobody waits for it.
	Read func(ctx context.Context, key store.Key, at State) (T, error)
	// State returns the state of an object that was read. Its Epoch does not count: it is that
	// of the state that was asked for, before the read.
	State func(T) State
	// Exists reports whether there is an object in a state, or an earlier one.
	Exists func(key store.Key, state State) bool
}

// Cache keeps objects that were read. Make one with New. It is safe for concurrent use.
type Cache[T any] struct {
	opts Options[T]

	// kept is written to with mu.
	kept *store.Store[*entry[T]]

	mu sync.Mutex
	// The fields below are guarded by mu.

	// ring has the *entry of each kept object, the next to go first.
	ring list.List
	// stats are without the hits of what is kept.
	stats Stats
	reads map[wanted]*reading[T]
	// left has those under way for which nobody waits any more.
	left   map[*reading[T]]struct{}
	closed bool
}

// Stats are a Cache's. Hits and Misses count calls of Get: those that returned an object at
// once, and those that waited.
type Stats struct {
	Objects      int
	Bytes        int64
	Hits, Misses uint64
}

type entry[T any] struct {
	key    store.Key
	object T
	state  State
	bytes  int64
	hits   atomic.Uint64
	// spared is what hits were when the entry was last passed over; guarded by Cache.mu.
	spared uint64
	at     *list.Element // guarded by Cache.mu
}

type wanted struct {
	key store.Key
	at  State
}

// reading is a call of Read that is under way.
type reading[T any] struct {
	// waiting and over are guarded by Cache.mu.
	waiting int
	over    bool
	cancel  context.CancelFunc
	// done is closed once object and err are set.
	done   chan struct{}
	object T
	err    error
}

// New returns an empty Cache.
func New[T any](opts Options[T]) *Cache[T] {
	kept, err := store.New(store.Options[*entry[T]]{KeyFunc: func(e *entry[T]) (store.Key, error) { return e.key, nil }})
	if err != nil {
		panic(err) // it has what it requires
	}
	return &Cache[T]{opts: opts, kept: kept, reads: map[wanted]*reading[T]{}, left: map[*reading[T]]struct{}{}}
}

// Close forgets all objects, and keeps none from now on.
func (c *Cache[T]) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.give(c.Evict(math.MaxInt64))
}

// Wait waits for the end of the reads for which no Get waits any more.
func (c *Cache[T]) Wait() {
	c.mu.Lock()
	left := slices.Collect(maps.Keys(c.left))
	c.mu.Unlock()
	for _, r := range left {
		<-r.done
	}
}

// Get returns the object that is kept in a state, or a later one. If there is none, Get waits until it has been
// read, or ctx ends. Calls for one state share a read, and its error. An object without a
// version is not kept.
func (c *Cache[T]) Get(ctx context.Context, key store.Key, at State) (T, error) {
	if e, ok := c.kept.Get(key); ok && e.state.serves(at) {
		e.hits.Add(1)
		return e.object, nil
	}
	c.mu.Lock()
	c.stats.Misses++
	want := wanted{key, at}
	r := c.reads[want]
	if r == nil {
		r = c.beginLocked(context.WithoutCancel(ctx), want)
	}
	r.waiting++
	c.mu.Unlock()
	select {
	case <-r.done:
		return r.object, r.err
	case <-ctx.Done():
		c.leave(want, r)
		var none T
		return none, context.Cause(ctx)
	}
}

// beginLocked begins to read.
func (c *Cache[T]) beginLocked(ctx context.Context, want wanted) *reading[T] {
	ctx, cancel := context.WithCancel(ctx)
	r := &reading[T]{cancel: cancel, done: make(chan struct{}), err: errExit}
	c.reads[want] = r
	go func() {
		defer cancel()
		defer close(r.done)
		defer c.over(want, r)
		if r.object, r.err = c.read(ctx, want); r.err == nil {
			c.keep(want, r.object)
		}
	}()
	return r
}

// errExit is the error of a Read that ended its goroutine.
var errExit = errors.New("the read ended its goroutine")

// read calls Read, which calls code of others.
func (c *Cache[T]) read(ctx context.Context, want wanted) (obj T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &official.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return c.opts.Read(ctx, want.key, want.at)
}

// over makes the next call for what was wanted begin another read.
func (c *Cache[T]) over(want wanted, r *reading[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.over = true
	delete(c.left, r)
	if c.reads[want] == r {
		delete(c.reads, want)
	}
}

func (c *Cache[T]) leave(want wanted, r *reading[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.waiting--; r.waiting == 0 {
		r.cancel()
		if !r.over {
			c.left[r] = struct{}{}
		}
		if c.reads[want] == r {
			delete(c.reads, want)
		}
	}
}

// keep keeps an object that fits.
func (c *Cache[T]) keep(want wanted, obj T) {
	key, state, bytes := want.key, c.opts.State(obj), footprint.One(obj)
	state.Epoch = want.at.Epoch
	if state.Version == "" || bytes > c.opts.Bytes || !c.opts.Exists(key, state) || c.opts.Budget != nil && !c.opts.Budget.Take(bytes, false) {
		return
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		c.give(bytes)
		return
	}
	var freed int64
	if old, ok := c.kept.Get(key); ok {
		freed = c.forgetLocked(old)
	}
	for c.stats.Bytes+bytes > c.opts.Bytes {
		freed += c.forgetLocked(c.nextLocked())
	}
	e := &entry[T]{key: key, object: obj, state: state, bytes: bytes}
	e.at = c.ring.PushBack(e)
	_ = c.kept.Put(e) // which has a key
	c.stats.Objects++
	c.stats.Bytes += bytes
	c.mu.Unlock()
	c.give(freed)
}

// nextLocked returns the entry that is to go, and passes over each at most once.
func (c *Cache[T]) nextLocked() *entry[T] {
	for range c.ring.Len() {
		e := c.ring.Front().Value.(*entry[T])
		hits := e.hits.Load()
		if hits == e.spared {
			break
		}
		e.spared = hits
		c.ring.MoveToBack(e.at)
	}
	return c.ring.Front().Value.(*entry[T])
}

// give returns bytes to the Budget, which may be waiting for mu.
func (c *Cache[T]) give(bytes int64) {
	if c.opts.Budget != nil && bytes > 0 {
		c.opts.Budget.Give(bytes)
	}
}

// Bytes returns how many the kept objects take.
func (c *Cache[T]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats.Bytes
}

// Evict forgets objects of about n bytes, or all if they take less, and returns how many bytes
// these took. The caller returns them to the Budget.
func (c *Cache[T]) Evict(n int64) (freed int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for freed < n && c.stats.Objects > 0 {
		freed += c.forgetLocked(c.nextLocked())
	}
	return freed
}

// Forget removes an object, unless it is in the given state, or a later one.
func (c *Cache[T]) Forget(key store.Key, but State) {
	c.mu.Lock()
	var freed int64
	if e, ok := c.kept.Get(key); ok && !e.state.serves(but) {
		freed = c.forgetLocked(e)
	}
	c.mu.Unlock()
	c.give(freed)
}

// forgetLocked returns how many bytes that object took.
func (c *Cache[T]) forgetLocked(e *entry[T]) int64 {
	c.kept.Delete(e.key)
	c.ring.Remove(e.at)
	c.stats.Objects--
	c.stats.Bytes -= e.bytes
	c.stats.Hits += e.hits.Load()
	return e.bytes
}

// Stats returns what is kept, and what was asked for. A hit may be missing if its object went
// meanwhile. It takes time for each object.
func (c *Cache[T]) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	for e := c.ring.Front(); e != nil; e = e.Next() {
		stats.Hits += e.Value.(*entry[T]).hits.Load()
	}
	return stats
}
