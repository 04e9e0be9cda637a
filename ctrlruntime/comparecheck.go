package ctrlruntime

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CompareStats count what a Comparison has done.
type CompareStats struct {
	// Reads is how many reads the program made, and ReadsCompared how many of them were
	// repeated: at most CompareOptions.ReadsPerSecond.
	Reads, ReadsCompared uint64
	// Rounds is how often everything that the caches hold was compared, and Objects how
	// many objects rounds and reads have compared.
	Rounds, Objects uint64
	// Lagged is how many objects differed for less than CompareOptions.Within.
	// Undecided is how many changed too fast to be compared, or were too many to be
	// looked at again: a later round may find them.
	Lagged, Undecided uint64
	// Differences is how many were found, and Unreported how many of them were not
	// passed to OnDifference, because there were too many.
	Differences, Unreported uint64
}

type compareCounts struct {
	reads, readsCompared, rounds, objects, lagged, undecided, differences, unreported atomic.Uint64
}

// Stats returns the current counts.
func (c *Comparison) Stats() CompareStats {
	n := &c.counts
	return CompareStats{
		Reads: n.reads.Load(), ReadsCompared: n.readsCompared.Load(), Rounds: n.rounds.Load(), Objects: n.objects.Load(),
		Lagged: n.lagged.Load(), Undecided: n.undecided.Load(), Differences: n.differences.Load(), Unreported: n.unreported.Load(),
	}
}

// read is a Get, or a List if list is set, or what handlers received if delivered is
// set.
type read struct {
	kind      kindForm
	key       client.ObjectKey
	list      *client.ListOptions
	delivered bool
}

func (r read) String() string {
	if r.delivered {
		return "what handlers received"
	}
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

// readFor bounds a repeated read, which waits while its informer syncs.
const readFor = 5 * time.Second

var unsafeRead = true

// do repeats the read on both caches. ok is false if the primary does not answer.
func (c *Comparison) do(ctx context.Context, r read) (pairs map[client.ObjectKey]pair, shadowErr error, ok bool) {
	if r.delivered {
		pairs, ok := c.deliveriesOf(r.kind).pairs()
		return pairs, nil, ok
	}
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

// from returns a cache's answer to a read, without copies.
func (c *Comparison) from(ctx context.Context, from cache.Cache, r read) ([]client.Object, error) {
	if r.list == nil {
		obj, err := as[client.Object](newObject(c.opts.Scheme, r.kind.GroupVersionKind, r.kind.form))
		if err != nil {
			return nil, err
		}
		err = from.Get(ctx, r.key, obj, &client.GetOptions{UnsafeDisableDeepCopy: &unsafeRead})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return []client.Object{obj}, err
	}
	out, err := as[client.ObjectList](newList(c.opts.Scheme, r.kind.GroupVersionKind, r.kind.form))
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

// as returns obj as a T.
func as[T any](obj runtime.Object, err error) (T, error) {
	t, ok := obj.(T)
	if err == nil && !ok {
		err = fmt.Errorf("%T is no %v", obj, reflect.TypeFor[T]())
	}
	return t, err
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

// comparePairs makes suspects of the pairs that differ. again returns the read that
// looks at a key again.
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

// pause waits for d, and returns false if ctx ends first.
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

// compareHeld compares everything that both caches hold, from time to time.
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
			c.compareDelivered(ctx, k)
		}
		c.counts.rounds.Add(1)
	}
}

// syncWithin is how much later than the primary the shadow may sync.
const syncWithin = 2 * time.Minute

// held returns what both caches hold of a kind, once both have synced.
func (c *Comparison) held(ctx context.Context, k kindForm, unsynced map[kindForm]time.Time) (primary, shadow []client.Object, ok bool) {
	obj, err := as[client.Object](newObject(c.opts.Scheme, k.GroupVersionKind, k.form))
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
		// A cache of several namespaces does not return a SharedIndexInformer.
		if all[i], err = c.from(ctx, from, read{kind: k, list: &client.ListOptions{}}); err != nil {
			if i == 1 {
				c.did("List", k, err)
			}
			return nil, nil, false
		}
	}
	return all[0], all[1], true
}
