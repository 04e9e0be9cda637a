//go:build e2e

package programs

import (
	"context"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatalister"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// observer is an informer of Ledgers with its history, and knows of refusals.
type observer struct {
	cache.SharedIndexInformer
	*history.History
	// refusals has the newest refusal with Not Found that nobody asked for yet.
	refusals chan error
}

// The informers are made as dynamicinformer and metadatainformer make theirs.

func dynamicObserver(cfg *rest.Config, gvr schema.GroupVersionResource) *observer {
	client := must(dynamic.NewForConfig(cfg)).Resource(gvr).Namespace("books")
	return newObserver("dynamic "+gvr.Version, listWatch(client.List, client.Watch), &unstructured.Unstructured{})
}

func metadataObserver(cfg *rest.Config, gvr schema.GroupVersionResource) *observer {
	client := must(metadata.NewForConfig(cfg)).Resource(gvr).Namespace("books")
	return newObserver("metadata "+gvr.Version, listWatch(client.List, client.Watch), &metav1.PartialObjectMetadata{})
}

func newObserver(name string, lw cache.ListerWatcher, obj runtime.Object) *observer {
	o := &observer{
		cache.NewSharedIndexInformer(lw, obj, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		history.New(name), make(chan error, 1),
	}
	must(o.AddEventHandler(history.Plain{History: o.History}))
	must(0, o.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			o.seen()
			o.refusals <- err
		}
	}))
	return o
}

// seen forgets a refusal that was not asked for.
func (o *observer) seen() {
	select {
	case <-o.refusals:
	default:
	}
}

// refused returns when a request has been refused with Not Found.
func (o *observer) refused(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-o.refusals:
	case <-ctx.Done():
		t.Fatalf("%s is not told that there is no such resource", o.Name)
	}
}

// has returns when the handler was told of these Ledgers and no others.
func (o *observer) has(t *testing.T, ctx context.Context, names ...string) {
	t.Helper()
	check(t, o.Until(ctx, "at the right names", func(last history.Objects) bool {
		for _, name := range names {
			if last[kinglet.Key{Namespace: "books", Name: name}] == nil {
				return false
			}
		}
		return len(last) == len(names)
	}))
}

// pair is a dynamic and a metadata informer of Ledgers v1.
type pair struct {
	whole, meta *observer
	ctx         context.Context
	stop        context.CancelFunc
	running     sync.WaitGroup
}

func startPair(ctx context.Context, cfg *rest.Config) *pair {
	p := &pair{whole: dynamicObserver(cfg, ledgersV1), meta: metadataObserver(cfg, ledgersV1)}
	p.ctx, p.stop = context.WithCancel(ctx)
	p.each(func(o *observer) { p.running.Go(func() { o.RunWithContext(p.ctx) }) })
	return p
}

func (p *pair) end() {
	p.stop()
	p.running.Wait()
}

func (p *pair) each(do func(*observer)) {
	do(p.whole)
	do(p.meta)
}

func (p *pair) has(t *testing.T, names ...string) {
	t.Helper()
	p.each(func(o *observer) { o.has(t, p.ctx, names...) })
}

func (p *pair) refused(t *testing.T) {
	t.Helper()
	p.each(func(o *observer) { o.refused(t, p.ctx) })
}

// settled compares both with the server, read through their clients' listers.
func (p *pair) settled(t *testing.T, s *server) {
	t.Helper()
	kind[unstructured.Unstructured]{s, ledgersV1, "books"}.settled(t, p.whole.History, func() []*unstructured.Unstructured {
		return must(dynamiclister.New(p.whole.GetIndexer(), ledgersV1).Namespace("books").List(labels.Everything()))
	})
	kind[metav1.PartialObjectMetadata]{s, ledgersV1, "books"}.settled(t, p.meta.History, func() []*metav1.PartialObjectMetadata {
		return must(metadatalister.New(p.meta.GetIndexer(), ledgersV1).Namespace("books").List(labels.Everything()))
	})
}
