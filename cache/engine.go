package cache

import (
	"context"
	"fmt"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/internal/phaselog"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

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
	src, err := newSource(c.lw, c.example, source.Options{Name: c.description}, nil)
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

// logged returns a function that logs changes of phase and then calls told, which
// may be nil.
func (e *engine) logged(told func(reflector.Status)) func(reflector.Status) {
	var phases phaselog.Log
	return func(s reflector.Status) {
		if line, ok := phases.Next(time.Now(), &s); ok {
			logPhase(e.config.logger, e.config.description, line)
		}
		if told != nil {
			told(s)
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
				if told := e.config.resyncFailed; told != nil {
					told(err)
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
	return least, 2 * least
}
