package ctrlruntime

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CompareStats count what a Comparison has done.
type CompareStats struct {
	// Reads is how many reads the program made, and ReadsCompared how many of them were
	// repeated: not more than CompareOptions.ReadsPerSecond.
	Reads, ReadsCompared uint64
	// Rounds is how often all that the caches hold was compared, and Objects how many
	// objects were, by rounds and reads.
	Rounds, Objects uint64
	// Lagged is how many objects were different for less than CompareOptions.Within.
	// Undecided are those that changed too fast to be compared, or that were too many
	// to be looked at again: a later round may find them.
	Lagged, Undecided uint64
	// Differences is how many were found, and Unreported those of them that
	// OnDifference was not called with, since there were too many.
	Differences, Unreported uint64
}

type compareCounts struct {
	reads, readsCompared, rounds, objects, lagged, undecided, differences, unreported atomic.Uint64
}

// Stats returns the counts of now.
func (c *Comparison) Stats() CompareStats {
	n := &c.counts
	return CompareStats{
		Reads: n.reads.Load(), ReadsCompared: n.readsCompared.Load(), Rounds: n.rounds.Load(), Objects: n.objects.Load(),
		Lagged: n.lagged.Load(), Undecided: n.undecided.Load(), Differences: n.differences.Load(), Unreported: n.unreported.Load(),
	}
}

// read is a Get, or a List if list is set.
type read struct {
	kind kindForm
	key  client.ObjectKey
	list *client.ListOptions
}

func (r read) String() string {
	if r.list == nil {
		return "Get"
	}
	text := "List in all namespaces"
	if r.list.Namespace != "" {
		text = "List in namespace " + r.list.Namespace
	}
	if r.list.LabelSelector != nil {
		text += fmt.Sprintf(", labels %q", r.list.LabelSelector)
	}
	if r.list.FieldSelector != nil {
		text += fmt.Sprintf(", fields %q", r.list.FieldSelector)
	}
	return text
}

// readFor bounds a read that is repeated: it waits while its informer syncs.
const readFor = 5 * time.Second

var unsafeRead = true

// do repeats the read on both caches. ok is false if the primary does not answer.
func (c *Comparison) do(ctx context.Context, r read) (pairs map[client.ObjectKey]pair, shadowErr error, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	primary, err := c.from(ctx, c.primary, r)
	if err != nil {
		return nil, nil, false
	}
	shadow, shadowErr := c.from(ctx, c.shadow, r)
	pairs = make(map[client.ObjectKey]pair, len(primary))
	for _, obj := range primary {
		pairs[client.ObjectKeyFromObject(obj)] = pair{primary: obj}
	}
	for _, obj := range shadow {
		key := client.ObjectKeyFromObject(obj)
		pairs[key] = pair{primary: pairs[key].primary, shadow: obj}
	}
	return pairs, shadowErr, true
}

// from returns what a cache has for a read, without a copy.
func (c *Comparison) from(ctx context.Context, from cache.Cache, r read) ([]client.Object, error) {
	if r.list == nil {
		obj, err := c.newObject(r.kind)
		if err != nil {
			return nil, err
		}
		err = from.Get(ctx, r.key, obj, &client.GetOptions{UnsafeDisableDeepCopy: &unsafeRead})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []client.Object{obj}, err
	}
	out, err := c.newList(r.kind)
	if err != nil {
		return nil, err
	}
	opts := *r.list
	opts.UnsafeDisableDeepCopy = &unsafeRead
	if err := from.List(ctx, out, &opts); err != nil {
		return nil, err
	}
	var objs []client.Object
	err = apimeta.EachListItem(out, func(item runtime.Object) error {
		objs = append(objs, item.(client.Object))
		return nil
	})
	return objs, err
}

func (c *Comparison) newObject(k kindForm) (client.Object, error) {
	switch k.form {
	case untyped:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(k.GroupVersionKind)
		return u, nil
	case metadataOnly:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(k.GroupVersionKind)
		return m, nil
	}
	obj, err := c.opts.Scheme.New(k.GroupVersionKind)
	if err != nil {
		return nil, err
	}
	o, ok := obj.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no client.Object", obj)
	}
	return o, nil
}

func (c *Comparison) newList(k kindForm) (client.ObjectList, error) {
	gvk := k.GroupVersion().WithKind(k.Kind + "List")
	switch k.form {
	case untyped:
		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	case metadataOnly:
		m := &metav1.PartialObjectMetadataList{}
		m.SetGroupVersionKind(gvk)
		return m, nil
	}
	obj, err := c.opts.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	list, ok := obj.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is no client.ObjectList", obj)
	}
	return list, nil
}

// compareReads compares the reads of the program.
func (c *Comparison) compareReads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-c.reads:
			pairs, shadowErr, ok := c.do(ctx, r)
			if !ok || ctx.Err() != nil {
				continue
			}
			c.counts.readsCompared.Add(1)
			if shadowErr != nil {
				c.suspect(suspect{read: r, failed: shadowErr})
				continue
			}
			c.comparePairs(ctx, pairs, func(client.ObjectKey) read { return r })
		}
	}
}

// comparePairs suspects those that differ, to be looked at again by the read that again
// returns.
func (c *Comparison) comparePairs(ctx context.Context, pairs map[client.ObjectKey]pair, again func(client.ObjectKey) read) {
	const chunk = 256
	n, began := 0, time.Now()
	for key, p := range pairs {
		if what, _ := p.compare(); what != 0 {
			c.suspect(suspect{read: again(key), key: key, what: what, was: p})
		}
		if n++; n%chunk == 0 {
			// A twentieth of a core.
			if !pause(ctx, 19*time.Since(began)) {
				return
			}
			began = time.Now()
		}
	}
	c.counts.objects.Add(uint64(n))
}

// pause returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// compareHeld compares all that both caches hold, from time to time.
func (c *Comparison) compareHeld(ctx context.Context) {
	unsynced := map[kindForm]time.Time{}
	for wait := min(c.opts.Every, time.Minute); pause(ctx, wait); wait = c.opts.Every {
		c.mu.Lock()
		var kinds []kindForm
		for k := range c.kinds {
			kinds = append(kinds, k)
		}
		c.mu.Unlock()
		for _, k := range kinds {
			if primary, shadow, ok := c.held(ctx, k, unsynced); ok {
				pairs := make(map[client.ObjectKey]pair, len(primary))
				for _, obj := range primary {
					pairs[client.ObjectKeyFromObject(obj)] = pair{primary: obj}
				}
				for _, obj := range shadow {
					key := client.ObjectKeyFromObject(obj)
					pairs[key] = pair{primary: pairs[key].primary, shadow: obj}
				}
				c.comparePairs(ctx, pairs, func(key client.ObjectKey) read { return read{kind: k, key: key} })
			}
		}
		c.counts.rounds.Add(1)
	}
}

// syncWithin is how long after the primary the shadow may sync.
const syncWithin = 2 * time.Minute

// held returns what both caches hold of a kind, once both have synced.
func (c *Comparison) held(ctx context.Context, k kindForm, unsynced map[kindForm]time.Time) (primary, shadow []client.Object, ok bool) {
	obj, err := c.newObject(k)
	if err != nil {
		return nil, nil, false
	}
	var informers [2]cache.Informer
	for i, from := range []cache.Cache{c.primary, c.shadow} {
		if informers[i], err = from.GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			if i == 1 {
				c.did("GetInformer", k, err)
			}
			return nil, nil, false
		}
	}
	if !informers[0].HasSynced() {
		return nil, nil, false
	}
	if !informers[1].HasSynced() {
		since, known := unsynced[k]
		if !known {
			unsynced[k] = time.Now()
		} else if lasts := time.Since(since); lasts >= syncWithin {
			c.report(Difference{What: NotSynced, Kind: k.GroupVersionKind, For: lasts})
		}
		return nil, nil, false
	}
	delete(unsynced, k)
	var all [2][]client.Object
	for i, from := range []cache.Cache{c.primary, c.shadow} {
		if shared, ok := informers[i].(toolscache.SharedIndexInformer); ok {
			for _, held := range shared.GetStore().List() {
				if obj, ok := held.(client.Object); ok {
					all[i] = append(all[i], obj)
				}
			}
			continue
		}
		// A cache of several namespaces has no such informer.
		if all[i], err = c.from(ctx, from, read{kind: k, list: &client.ListOptions{}}); err != nil {
			if i == 1 {
				c.did("List", k, err)
			}
			return nil, nil, false
		}
	}
	return all[0], all[1], true
}

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
