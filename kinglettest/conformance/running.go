package conformance

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"
)

// bothWays makes two tests of one: against an origin that knows watch-list,
// and against one that has to be listed.
func bothWays(sentence string, run func(*testing.T, Implementation, *origin)) []test {
	return []test{
		{Sentence: sentence + ", by watch-list", Run: func(t *testing.T, im Implementation) { run(t, im, newOrigin()) }},
		{Sentence: sentence + ", by list", Run: func(t *testing.T, im Implementation) {
			o := newOrigin()
			o.noWatchList = true
			run(t, im, o)
		}},
	}
}

// running runs something until the test ends, or until stop is called, which
// waits for it. Everything has settled when running returns.
func running(t *testing.T, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// podInformer makes a shared informer of an origin's pods, with indexes.
func podInformer(im Implementation, lw kc.ListerWatcher) kc.SharedIndexInformer {
	return im.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, podIndexers())
}

// handle adds a recorder.
func handle(t *testing.T, informer kc.SharedInformer) (*recorder, kc.ResourceEventHandlerRegistration) {
	t.Helper()
	r := &recorder{}
	return r, value(informer.AddEventHandler(r))(t)
}

// gate is where a handler stands still until it is opened.
type gate struct{ opened chan struct{} }

func newGate() gate { return gate{make(chan struct{})} }

func (g gate) wait(string) { <-g.opened }

func (g gate) open() { close(g.opened) }

// ended reports whether a channel is closed, once everything has settled.
func ended[T any](ch <-chan T) bool {
	synctest.Wait()
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func isDone(c kc.DoneChecker) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
