package main

import (
	"context"
	"errors"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// clientGoEngine is a SharedIndexInformer.
type clientGoEngine struct {
	*stage
	informer      cache.SharedIndexInformer
	registrations []cache.ResourceEventHandlerRegistration
	cancel        context.CancelFunc
	done          sync.WaitGroup
	// last are closed when a handler has been told of the last event; with
	// client-go, that is the last that it is told of.
	last []<-chan struct{}
}

func newClientGo(s *stage) (engine, error) {
	c := &clientGoEngine{stage: s}
	c.informer = cache.NewSharedIndexInformer(&memoryWatch{s}, &corev1.ConfigMap{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	return c, nil
}

func (c *clientGoEngine) begin(ctx context.Context) error {
	ctx, c.cancel = context.WithCancel(ctx)
	for _, l := range c.listeners() {
		reg, err := c.informer.AddEventHandler(c.handler(ctx, l))
		if err != nil {
			return err
		}
		c.registrations = append(c.registrations, reg)
	}
	c.done.Go(func() { c.informer.RunWithContext(ctx) })
	for _, reg := range c.registrations {
		if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
			return errors.New("client-go's informer has not synced")
		}
	}
	if c.stalled != nil {
		c.last = append(c.last, c.stalled.expect(c.h.version+c.script.full+c.script.steady))
	}
	return nil
}

func (c *clientGoEngine) handler(ctx context.Context, l *listener) cache.ResourceEventHandler {
	pass := func() {}
	if l == c.stalled {
		pass = func() { c.gate.pass(ctx) }
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				pass()
			}
			l.added(obj.(object), initial)
		},
		UpdateFunc: func(old, obj any) { pass(); l.updated(old.(object), obj.(object)) },
		DeleteFunc: func(obj any) { pass(); l.deleted(obj.(object)) },
	}
}

// records: client-go does not say, and has no bound.
func (c *clientGoEngine) records() (pending, inFlight int) { return -1, -1 }

func (c *clientGoEngine) caughtUp(ctx context.Context) error {
	for _, last := range c.last {
		select {
		case <-last:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (c *clientGoEngine) end() error {
	c.cancel()
	c.done.Wait()
	return nil
}

// memoryWatch is the same source for client-go.
type memoryWatch struct{ *stage }

func (m *memoryWatch) List(metav1.ListOptions) (runtime.Object, error) {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(len(m.initial))}}
	for _, obj := range m.initial {
		list.Items = append(list.Items, *obj)
	}
	return list, nil
}

// IsWatchListSemanticsUnSupported is how client-go asks.
func (m *memoryWatch) IsWatchListSemanticsUnSupported() bool { return true }

func (m *memoryWatch) Watch(metav1.ListOptions) (watch.Interface, error) {
	ctx, cancel := context.WithCancel(context.Background())
	// The buffer holds a batch, so that the source hands one over as it does
	// to kinglet.
	w := &playing{events: make(chan watch.Event, batchEvents), cancel: cancel}
	go func() {
		defer close(w.events)
		// Why it ended is what stopped it.
		_ = m.script.play(ctx, m.h, func(n int, last bool) error {
			batch := make([]watch.Event, 0, n)
			first := m.h.version + 1
			for i := range n {
				t, obj := m.h.next(last && i == n-1)
				batch = append(batch, watch.Event{Type: t, Object: obj})
			}
			m.h.handOver(first)
			for _, e := range batch {
				select {
				case w.events <- e:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	}()
	return w, nil
}

type playing struct {
	events chan watch.Event
	cancel context.CancelFunc
}

func (p *playing) ResultChan() <-chan watch.Event { return p.events }
func (p *playing) Stop()                          { p.cancel() }
