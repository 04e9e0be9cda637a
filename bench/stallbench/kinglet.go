package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// memory is a source that plays the script.
type memory struct {
	*stage
	// after is called when a batch has been taken.
	after func()
}

var _ source.Source[object] = (*memory)(nil)

func (m *memory) String() string { return "configmaps in memory" }

func (m *memory) Traits() source.Traits { return source.Traits{} }

func (m *memory) List(_ context.Context, _ source.ListRequest[object], yield func(source.Page[object]) error) error {
	page := source.Page[object]{ResourceVersion: strconv.Itoa(len(m.initial))}
	for _, obj := range m.initial {
		page.Items = append(page.Items, item(obj))
	}
	return yield(page)
}

func (m *memory) Watch(ctx context.Context, req source.WatchRequest[object], yield func([]source.Event[object]) error) error {
	if req.ResourceVersion != strconv.Itoa(len(m.initial)) {
		return fmt.Errorf("a watch from version %q: this source is watched once", req.ResourceVersion)
	}
	batch := make([]source.Event[object], 0, batchEvents)
	types := map[watch.EventType]source.EventType{
		watch.Added: source.Added, watch.Modified: source.Modified, watch.Deleted: source.Deleted,
	}
	return m.script.play(ctx, m.h, func(n int, last bool) error {
		batch = batch[:0]
		first := m.h.version + 1
		for i := range n {
			t, obj := m.h.next(last && i == n-1)
			batch = append(batch, source.Event[object]{Type: types[t], Item: item(obj)})
		}
		m.h.handOver(first)
		if err := yield(batch); err != nil {
			return err
		}
		m.after()
		return nil
	})
}

func item(obj object) source.Item[object] {
	return source.Item[object]{
		Key: kinglet.Key{Namespace: obj.Namespace, Name: obj.Name},
		UID: obj.UID, ResourceVersion: obj.ResourceVersion, Object: obj,
	}
}

// kingletEngine is an Informer.
type kingletEngine struct {
	*stage
	informer      *kinglet.Informer[object]
	registrations []kinglet.Registration
	stalledAt     kinglet.Registration

	cancel context.CancelFunc
	ended  chan error
	// failures are what the informer reported.
	mu       sync.Mutex
	failures []error // guarded by mu
	// most is written by the source's goroutine, and read when it waits.
	most struct{ pending, inFlight int }
}

func newKinglet(s *stage) (engine, error) {
	k := &kingletEngine{stage: s, ended: make(chan error, 1)}
	inf, err := kinglet.New[object](&memory{s, k.look}, kinglet.Options[object]{
		DisableWatchList: true,
		Indexers: map[string]kinglet.IndexFunc[object]{
			"namespace": func(obj object) ([]string, error) { return []string{obj.Namespace}, nil },
		},
		OnError: func(err error) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.failures = append(k.failures, err)
		},
	})
	if err != nil {
		return nil, err
	}
	k.informer = inf
	for _, l := range s.listeners() {
		reg, err := inf.AddHandler(k.handler(l), kinglet.HandlerOptions{Name: l.name, MaxBatch: 1})
		if err != nil {
			return nil, err
		}
		k.registrations = append(k.registrations, reg)
		if l == s.stalled {
			k.stalledAt = reg
		}
	}
	return k, nil
}

func (k *kingletEngine) handler(l *listener) kinglet.Handler[object] {
	pass := func(context.Context) {}
	if l == k.stalled {
		pass = k.gate.pass
	}
	return kinglet.HandlerFuncs[object]{
		OnAdd: func(ctx context.Context, obj object, initial bool) {
			if !initial {
				pass(ctx)
			}
			l.added(obj, initial)
		},
		OnUpdate: func(ctx context.Context, old, obj object) { pass(ctx); l.updated(old, obj) },
		OnDelete: func(ctx context.Context, d kinglet.DeletedObject[object]) { pass(ctx); l.deleted(d.Object) },
	}
}

// look is called after every batch, when what is pending is at its most.
func (k *kingletEngine) look() {
	if k.stalledAt != nil {
		k.most.pending = max(k.most.pending, k.stalledAt.Pending())
		k.most.inFlight = max(k.most.inFlight, k.stalledAt.InFlight())
	}
}

func (k *kingletEngine) records() (pending, inFlight int) {
	return k.most.pending, k.most.inFlight
}

func (k *kingletEngine) begin(ctx context.Context) error {
	ctx, k.cancel = context.WithCancel(ctx)
	go func() { k.ended <- k.informer.Run(ctx) }()
	for _, reg := range k.registrations {
		if err := reg.WaitSynced(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (k *kingletEngine) caughtUp(ctx context.Context) error {
	look := time.NewTicker(100 * time.Microsecond)
	defer look.Stop()
	for _, reg := range k.registrations {
		for reg.DeliveredThrough() != strconv.Itoa(k.h.version) {
			select {
			case <-look.C:
			case <-ctx.Done():
				return fmt.Errorf("handler %q has been told through %q: %w", reg.Name(), reg.DeliveredThrough(), ctx.Err())
			}
		}
	}
	return nil
}

func (k *kingletEngine) end() error {
	k.cancel()
	err := <-k.ended
	k.mu.Lock()
	defer k.mu.Unlock()
	return errors.Join(append(k.failures, err)...)
}
