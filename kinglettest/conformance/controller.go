package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

func controllerRow() row {
	retries := func(im Implementation) bool { return im.Requeue != nil && im.NewReadableDeltaFIFO != nil }
	return row{
		id:    "controller",
		needs: []string{"NewController", "NewInformer*", "NewIndexerInformer", "NewTransforming*", "NewDeltaFIFO*", "NewRealFIFO*", "NewStore"},
		tests: slices.Concat(
			bothWays("Run works the queue off through Process", controllerRuns),
			[]test{
				{sentence: "it has synced when the queue has, and its version is the reflector's", run: controllerSynced},
				{sentence: "Run ends with its context, closes the queue and leaves nothing", run: controllerEnds},
				{sentence: "Run waits for what is in Process", run: controllerWaits},
				{sentence: "an error of Process is no end", run: controllerProcessError},
				{sentence: "what failed is retried where asked for", run: controllerRetries, only: retries},
				{sentence: "batches go to ProcessBatch where the queue has them", run: controllerBatch},
				{sentence: "a period of resyncs works on the queue, if it should", run: controllerResync},
				{sentence: "the watch error handlers are told of errors", run: controllerErrorHandlers},
				{sentence: "a page size is a limit of lists", run: controllerPageSize},
			},
			bothWays("an informer of the controller keeps its store and tells its handler", oneHandlerInformer),
			[]test{
				{sentence: "every way to make such an informer makes the same", run: oneHandlerInformers},
				{sentence: "such an informer has indexes", run: oneHandlerIndexes},
				{sentence: "such an informer transforms", run: oneHandlerTransforms},
				{sentence: "such an informer resyncs", run: oneHandlerResyncs},
				{sentence: "such an informer tells what it missed", run: oneHandlerMissed},
				{sentence: "a panic of such an informer's handler is Run's", run: oneHandlerPanics},
			},
		),
	}
}

// worker is a Process that records its calls, and updates the store that its queue knows.
type worker struct {
	logbook
	store kc.Store
	err   error
}

func (w *worker) process(obj any, initial bool) error {
	var words []string
	for _, d := range obj.(kc.Deltas) {
		what := string(d.Type) + " "
		if u, ok := d.Object.(kc.DeletedFinalStateUnknown); ok {
			what += "unknown " + describe(u.Obj)
		} else {
			what += describe(d.Object)
		}
		words = append(words, what)
		if d.Type == kc.Deleted {
			_ = w.store.Delete(d.Object)
		} else {
			_ = w.store.Add(d.Object)
		}
	}
	w.write(strings.Join(words, ", ") + flagged(initial))
	return w.err
}

func (w *worker) told(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	w.logbook.told(t, want...)
}

// controlled makes a controller over a DeltaFIFO.
func controlled(im Implementation, o *origin, change ...func(*ControllerConfig)) (kc.Controller, *worker, kc.Queue) {
	w := &worker{store: im.NewStore(im.DeletionHandlingMetaNamespaceKeyFunc)}
	q := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{KnownObjects: w.store, EmitDeltaTypeReplaced: true})
	config := ControllerConfig{Queue: q, ListerWatcher: o, ObjectType: &corev1.Pod{}, Process: w.process}
	for _, c := range change {
		c(&config)
	}
	return im.NewController(config), w, q
}

func controllerRuns(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	c, w, _ := controlled(im, o)
	running(t, c.RunWithContext)
	// The one object is the last of the initial list, and the queue has synced
	// with it or after it.
	if log := w.take(); len(log) != 1 || strings.TrimSuffix(log[0], " initial") != "Replaced ns/a@101" {
		t.Errorf("Process was given %v", log)
	}
	o.put(pod("ns", "b"))
	synctest.Wait()
	o.put(pod("ns", "a"))
	synctest.Wait()
	o.remove("ns", "b")
	w.told(t, "Added ns/b@102", "Updated ns/a@103", "Deleted ns/b@104")
	o.behindItsBack(func() { o.remove("ns", "a"); o.put(pod("ns", "c")) })
	testclock.Elapse(time.Minute)
	w.toldInAnyOrder(t, "Deleted unknown ns/a@103", "Replaced ns/c@106")
	same(t, "objects", names(w.store.List()), "ns/c@106")
}

func controllerSynced(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"), pod("ns", "b"))
	steps := make(chan struct{})
	c, _, q := controlled(im, o, func(c *ControllerConfig) {
		c.Process = func(any, bool) error { <-steps; return nil }
	})
	equal(t, "synced before Run", c.HasSynced(), false)
	equal(t, "version before Run", c.LastSyncResourceVersion(), "")
	running(t, c.RunWithContext)
	t.Cleanup(func() { close(steps) })
	equal(t, "synced is done", isDone(c.HasSyncedChecker()), false)
	steps <- struct{}{}
	synctest.Wait()
	steps <- struct{}{}
	synctest.Wait()
	equal(t, "synced", c.HasSynced(), true)
	equal(t, "the queue has synced", q.HasSynced(), true)
	equal(t, "synced is done", isDone(c.HasSyncedChecker()), true)
	equal(t, "version", c.LastSyncResourceVersion(), "102")
}

func controllerEnds(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	c, _, q := controlled(im, o)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { c.Run(stop); close(done) }()
	synctest.Wait()
	equal(t, "open watches", o.open(), 1)
	close(stop)
	equal(t, "Run returns", ended(done), true)
	equal(t, "open watches", o.open(), 0)
	equal(t, "the queue is closed", q.(Queue).IsClosed(), true)
}

func controllerWaits(t *testing.T, im Implementation) {
	// The queue must not hold its lock while it processes: a goroutine that waits for a
	// lock is not durably blocked in a bubble.
	q := im.NewRealFIFOWithOptions(kc.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true})
	g := newGate()
	c := im.NewController(ControllerConfig{
		Queue: q, ListerWatcher: newOrigin(pod("ns", "a")), ObjectType: &corev1.Pod{},
		Process: func(any, bool) error { g.wait(""); return nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { c.RunWithContext(ctx); close(done) }()
	synctest.Wait()
	cancel()
	equal(t, "Run returns while Process is at work", ended(done), false)
	g.open()
	equal(t, "Run returns", ended(done), true)
}

func controllerProcessError(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	c, w, _ := controlled(im, o)
	w.err = errBad
	running(t, c.RunWithContext)
	o.put(pod("ns", "b"))
	synctest.Wait()
	equal(t, "calls of Process", len(w.take()), 2)
	equal(t, "synced", c.HasSynced(), true)
}

func controllerRetries(t *testing.T, im Implementation) {
	o := newOrigin()
	var log logbook
	failures := 3
	store := im.NewStore(im.DeletionHandlingMetaNamespaceKeyFunc)
	c := im.NewController(ControllerConfig{
		Queue:         im.NewReadableDeltaFIFO(kc.DeltaFIFOOptions{KnownObjects: store, EmitDeltaTypeReplaced: true}),
		ListerWatcher: o, ObjectType: &corev1.Pod{}, RetryOnError: true,
		Process: func(obj any, _ bool) error {
			log.write(describe(obj.(kc.Deltas).Newest().Object))
			if failures > 0 {
				failures--
				return errBad
			}
			return nil
		},
	})
	running(t, c.RunWithContext)
	o.put(pod("ns", "a"))
	testclock.Elapse(time.Minute)
	log.told(t, slices.Repeat([]string{"ns/a@101"}, 4)...)
}

func controllerBatch(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"), pod("ns", "b"), pod("ns", "c"))
	store := im.NewStore(im.DeletionHandlingMetaNamespaceKeyFunc)
	var batches, given atomic.Int32
	c := im.NewController(ControllerConfig{
		Queue:         im.NewRealFIFO(im.MetaNamespaceKeyFunc, store, nil),
		ListerWatcher: o, ObjectType: &corev1.Pod{},
		Process:      func(any, bool) error { given.Add(1); return nil },
		ProcessBatch: func(deltas []kc.Delta, _ bool) error { batches.Add(1); given.Add(int32(len(deltas))); return nil },
	})
	running(t, c.RunWithContext)
	equal(t, "deltas", given.Load(), 3)
	equal(t, "batches", batches.Load(), 1)
	o.put(pod("ns", "d"))
	synctest.Wait()
	equal(t, "deltas", given.Load(), 4)
}

func controllerResync(t *testing.T, im Implementation) {
	var should atomic.Bool
	should.Store(true)
	o := newOrigin(pod("ns", "a"))
	c, w, _ := controlled(im, o, func(c *ControllerConfig) {
		c.FullResyncPeriod = 10 * time.Second
		c.ShouldResync = should.Load
	})
	running(t, c.RunWithContext)
	w.take()
	testclock.Elapse(9 * time.Second)
	w.told(t)
	testclock.Elapse(2 * time.Second)
	w.told(t, "Sync ns/a@101")
	should.Store(false)
	testclock.Elapse(time.Minute)
	w.told(t)
}

func controllerErrorHandlers(t *testing.T, im Implementation) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errBad)
	for _, both := range []bool{true, false} {
		o := listOnly(pod("ns", "a"))
		o.failLists(forbidden)
		var log logbook
		c, _, _ := controlled(im, o, func(c *ControllerConfig) {
			c.ObjectDescription = "my pods"
			if both {
				c.WatchErrorHandler = func(r *kc.Reflector, err error) {
					log.write(fmt.Sprint("plain ", r.TypeDescription(), apierrors.IsForbidden(err)))
				}
			}
			c.WatchErrorHandlerWithContext = func(_ context.Context, r *kc.Reflector, err error) {
				log.write(fmt.Sprint("with context ", r.TypeDescription(), apierrors.IsForbidden(err)))
			}
		})
		stop := running(t, c.RunWithContext)
		testclock.Elapse(time.Minute)
		want := "with context my podstrue"
		if both {
			want = "plain my podstrue"
		}
		log.told(t, want)
		equal(t, "synced", c.HasSynced(), true)
		stop()
	}
}

func controllerPageSize(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"), pod("ns", "b"), pod("ns", "c"))
	o.pages = true
	c, w, _ := controlled(im, o, func(c *ControllerConfig) { c.WatchListPageSize = 2 })
	running(t, c.RunWithContext)
	equal(t, "objects", len(w.store.List()), 3)
	requests := besides("watch-list", o.asked())
	if len(requests) != 3 || requests[0].options.Limit != 2 {
		t.Errorf("requests: %v, the first with a limit of %d", requests, requests[0].options.Limit)
	}
}
