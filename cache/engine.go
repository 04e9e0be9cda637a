package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/internal/diagnostics/phaselog"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// storeSink keeps a ReflectorStore equal to a collection: anything with Add,
// Update, Delete, Replace and Resync, such as a queue or an Indexer. Its methods
// are called from the reflector's goroutine, except Held and at.
type storeSink struct {
	store  ReflectorStore
	report func(error)
	// moved is called with each version that the store reaches; may be nil.
	moved func(version string)

	version atomic.Pointer[string]
	// listed is closed once the store holds the first list.
	listed chan struct{}
	// notTaken is why the store rejected the last list; the source then makes
	// the reflector list again.
	notTaken error
}

func newStoreSink(store ReflectorStore, report func(error)) *storeSink {
	return &storeSink{store: store, report: report, listed: make(chan struct{})}
}

// at returns the version that the store has reached.
func (s *storeSink) at() string {
	if v := s.version.Load(); v != nil {
		return *v
	}
	return ""
}

// latestStore is a queue that can return what it or its consumers have under a
// key.
type latestStore interface {
	latest(key string) (any, bool)
}

// held returns what the store has under key, if it can be asked.
func (s *storeSink) held(key store.Key) (any, bool) {
	switch asked := s.store.(type) {
	case latestStore:
		return asked.latest(key.String())
	case KeyGetter:
		return latestIn(asked, key.String())
	}
	return nil, false
}

// Held returns the object that is held, for decoders, and no memo: a store
// of the program's may have changed what it was given.
func (s *storeSink) Held(key store.Key) (any, store.Memo, bool) {
	obj, ok := s.held(key)
	return obj, nil, ok
}

// panicked is called with the value of a store's panic, before the process ends. If it
// goes on, as utilruntime.ReallyCrash decides, everything is listed again, as in client-go.
func (s *storeSink) panicked(value any) { s.notTaken = &notTakenError{fmt.Errorf("panic: %v", value)} }

// Apply applies live events.
func (s *storeSink) Apply(_ store.Scope, events []source.Event[any], version string) {
	defer utilruntime.HandleCrash(s.panicked)
	for i := range events {
		if err := s.apply(&events[i]); err != nil {
			s.report(err)
		}
	}
	s.move(version)
}

func (s *storeSink) apply(event *source.Event[any]) error {
	switch {
	case otherKind(event.Err):
		return event.Err // of another object
	case event.Err != nil && event.Type == source.Deleted:
		// It is gone, whether or not its last state can be read.
		if obj, ok := s.held(event.Key); ok {
			return errors.Join(event.Err, s.store.Delete(obj))
		}
		return event.Err
	case event.Err != nil:
		return event.Err
	case event.Type == source.Added:
		return s.named(event, s.store.Add(event.Object))
	case event.Type == source.Modified:
		return s.named(event, s.store.Update(event.Object))
	default:
		return s.named(event, s.store.Delete(event.Object))
	}
}

// named adds to err the object that it is about.
func (s *storeSink) named(event *source.Event[any], err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the store did not take %s of %s: %w", event.Type, event.Key, err)
}

// another reports whether an object is known to have another UID.
func another(obj any, uid types.UID) bool {
	m, err := meta.Accessor(obj)
	return err == nil && uid != "" && m.GetUID() != "" && m.GetUID() != uid
}

// Replace applies a list. An object that cannot be read keeps its last state, if
// the store can be asked for it.
func (s *storeSink) Replace(_ store.Scope, pages [][]source.Item[any], version string, _ bool) {
	defer utilruntime.HandleCrash(s.panicked)
	total := 0
	// there holds the keys of the readable objects, if some are of another kind.
	var there map[store.Key]bool
	for _, page := range pages {
		total += len(page)
		for i := range page {
			if there == nil && otherKind(page[i].Err) {
				there = keysOf(pages)
			}
		}
	}
	list := make([]any, 0, total)
	for p, page := range pages {
		for i := range page {
			item := &page[i]
			if item.Err == nil {
				list = append(list, item.Object)
				continue
			}
			s.report(item.Err)
			if there[item.Key] {
				continue
			}
			if obj, ok := s.held(item.Key); ok && !another(obj, item.UID) && (item.UID != "" || !otherKind(item.Err)) {
				list = append(list, obj)
			}
		}
		pages[p] = nil
	}
	if err := s.replace(list, version); err != nil {
		s.notTaken = &notTakenError{err}
		return
	}
	s.move(version)
	select {
	case <-s.listed:
	default:
		close(s.listed)
	}
}

// keysOf returns the keys of all objects of a list that could be read.
func keysOf(pages [][]source.Item[any]) map[store.Key]bool {
	keys := map[store.Key]bool{}
	for _, page := range pages {
		for i := range page {
			if page[i].Err == nil {
				keys[page[i].Key] = true
			}
		}
	}
	return keys
}

// otherKind reports whether an object of an unexpected kind arrived.
func otherKind(err error) bool {
	_, is := errors.AsType[*source.KindError](err)
	return err != nil && is
}

// replace passes a list to the store. Objects without a key are left out and
// reported, so that one of them does not keep out all others.
func (s *storeSink) replace(list []any, version string) error {
	for {
		err := s.store.Replace(slices.Clone(list), version)
		keyless, ok := errors.AsType[KeyError](err)
		if !ok {
			return err
		}
		i := slices.IndexFunc(list, func(obj any) bool { return identical(obj, keyless.Obj) })
		if i < 0 {
			return err
		}
		s.report(err)
		list = slices.Delete(list, i, i+1)
	}
}

// identical reports whether a == b; false if they cannot be compared.
func identical(a, b any) bool {
	t := reflect.TypeOf(a)
	return t != nil && t == reflect.TypeOf(b) && t.Comparable() && a == b
}

// Bookmark records that nothing has changed up to version.
func (s *storeSink) Bookmark(_ store.Scope, version string) {
	defer utilruntime.HandleCrash(s.panicked)
	if bookmarks, ok := s.store.(ReflectorBookmarkStore); ok {
		if err := bookmarks.Bookmark(version); err != nil {
			s.report(fmt.Errorf("the store did not take a bookmark: %w", err))
		}
	}
	s.move(version)
}

// move records that the store has reached version, and reports it.
func (s *storeSink) move(version string) {
	if version == s.at() {
		return
	}
	s.version.Store(&version)
	if updater, ok := s.store.(ResourceVersionUpdater); ok {
		updater.UpdateResourceVersion(version)
	}
	if s.moved != nil {
		s.moved(version)
	}
}

// notTakenError reports that a store rejected a list. The reflector treats it as
// an expired version, since only another list can mend that.
type notTakenError struct{ err error }

func (e *notTakenError) Error() string { return "unable to sync list result: " + e.err.Error() }

// Unwrap returns the store's error.
func (e *notTakenError) Unwrap() error { return e.err }

// Status implements apierrors.APIStatus.
func (e *notTakenError) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Message: e.Error(),
		Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
	}
}

// storeSource is the source of a storeSink. It asks for objects that share no
// memory, since the code behind a ReflectorStore may change them, as
// transformers do. It also makes the reflector list again if the store rejected
// a list, which is the error of the watch that follows.
type storeSource struct {
	source.Source[any]
	sink *storeSink
}

// List implements source.Source.
func (s *storeSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	req.Held = nil
	s.sink.notTaken = nil
	return s.Source.List(ctx, req, yield)
}

// Watch implements source.Source.
func (s *storeSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	req.Held = nil
	if req.SendInitialEvents {
		s.sink.notTaken = nil
	} else if err := s.sink.notTaken; err != nil {
		return err
	}
	publish := req.OnOpen
	if publish != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		req.OnOpen = func() {
			publish()
			publish = nil
			if s.sink.notTaken != nil {
				cancel()
			}
		}
	}
	err := s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		err := yield(events)
		if s.sink.notTaken != nil {
			return s.sink.notTaken
		}
		return err
	})
	if publish != nil {
		publish() // the watch did not open
	}
	if s.sink.notTaken != nil {
		return s.sink.notTaken
	}
	return err
}

// engine keeps a ReflectorStore equal to what a ListerWatcher has: kinglet's
// reflector between newSource and a storeSink, with resyncs. It runs under a
// Reflector and under a Controller.
type engine struct {
	config    engineConfig
	sink      *storeSink
	source    *storeSource
	reflector *reflector.Reflector[any]
}

type engineConfig struct {
	lw          ListerWatcher
	example     any
	store       ReflectorStore
	name        string
	description string
	logger      klog.Logger
	clock       clock.Clock // of resyncs
	// resyncPeriod is 0 for none; shouldResync may be nil.
	resyncPeriod time.Duration
	shouldResync func() bool
	// resyncFailed receives an error of the store's Resync, after which there are
	// no resyncs until the engine is run again. If it is nil, everything is listed
	// again, and resyncs go on.
	resyncFailed func(error)
	// reflector holds page size, timeouts and callbacks.
	reflector reflector.Options
}

func newEngine(c engineConfig) (*engine, error) {
	e := &engine{config: c}
	e.sink = newStoreSink(c.store, e.report)
	src, err := newSource(c.lw, c.example, source.Options{Name: c.description})
	if err != nil {
		return nil, err
	}
	metrics := newReflectorMetrics(c.name)
	e.sink.moved = metrics.moved
	src.counts = metrics
	e.source = &storeSource{Source: src, sink: e.sink}
	c.reflector.Name = c.name
	c.reflector.OnReadPath = func(before, now source.ReadPath) { logReadPath(c.logger, c.description, before, now) }
	c.reflector.DisableWatchList = c.reflector.DisableWatchList || !watchListEnabled()
	c.reflector.OnStatus = e.logged(c.reflector.OnStatus)
	e.reflector, err = reflector.New(e.source, e.sink, c.reflector)
	return e, err
}

// logged returns a function that logs changes of phase and then calls next, which
// may be nil.
func (e *engine) logged(next func(reflector.Status)) func(reflector.Status) {
	var phases phaselog.Log
	return func(s reflector.Status) {
		if line, ok := phases.Next(time.Now(), &s); ok {
			logPhase(e.config.logger, e.config.description, line)
		}
		if next != nil {
			next(s)
		}
	}
}

// watchListEnabled reports whether client-go's feature gate for streamed lists is
// on.
func watchListEnabled() bool { return features.FeatureGates().Enabled(features.WatchListClient) }

// run keeps the store equal until ctx ends. Everything that it started has then
// ended. It may be called again, and continues where it was, or with a list if
// anew is set.
func (e *engine) run(ctx context.Context, anew bool) error {
	defer allRunning.Observe(e)()
	ctx, stop := context.WithCancel(ctx)
	var resyncs sync.WaitGroup
	defer resyncs.Wait()
	defer stop()
	if e.config.resyncPeriod > 0 {
		resyncs.Go(func() { e.resync(ctx) })
	}
	if anew {
		return e.reflector.RunAnew(ctx)
	}
	return e.reflector.Run(ctx)
}

// resync calls the store's Resync periodically, once the store holds a list.
func (e *engine) resync(ctx context.Context) {
	select {
	case <-e.sink.listed:
	case <-ctx.Done():
		return
	}
	timer := e.config.clock.NewTimer(e.config.resyncPeriod)
	defer func() { timer.Stop() }()
	for {
		select {
		case <-timer.C():
		case <-ctx.Done():
			return
		}
		if due := e.config.shouldResync; due == nil || due() {
			if err := e.config.store.Resync(); err != nil {
				err = fmt.Errorf("resync: %w", err)
				if failed := e.config.resyncFailed; failed != nil {
					failed(err)
					return
				}
				e.report(err)
				e.reflector.Relist(err)
			}
		}
		timer = e.config.clock.NewTimer(e.config.resyncPeriod)
	}
}

// report reports an error that stops nothing.
func (e *engine) report(err error) {
	utilruntime.HandleErrorWithLogger(e.config.logger, err, "Reflector goes on without an object, bookmark or resync",
		"reflector", e.config.name, "type", e.config.description)
}

// watchTimeouts returns the bounds of a watch's timeout for a MinWatchTimeout.
// Less than the default would only load the server, so it is ignored, as in
// client-go.
func watchTimeouts(least time.Duration) (from, to time.Duration) {
	if least <= reflector.DefaultWatchTimeoutMin {
		return 0, 0
	}
	least = min(least, math.MaxInt64/2)
	return least, 2 * least
}
