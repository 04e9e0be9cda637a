package factories

import (
	"context"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"

	"github.com/kinglet-go/kinglet/cache"
)

// Dynamic is dynamicinformer.NewFilteredDynamicSharedInformerFactory with kinglet's
// informers. tweak may be nil.
func Dynamic(client dynamic.Interface, resync time.Duration, namespace string, tweak dynamicinformer.TweakListOptionsFunc) dynamicinformer.DynamicSharedInformerFactory {
	return newResources(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		lw := listWatch(client, client.Resource(gvr).Namespace(namespace), tweak)
		informer := cache.NewSharedIndexInformerWithOptions(lw, &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{
			ResyncPeriod: resync, Indexers: byNamespace(), ObjectDescription: gvr.String(),
		})
		return &generic{informer, dynamiclister.NewRuntimeObjectShim(dynamiclister.New(informer.GetIndexer(), gvr))}
	})
}

// Metadata is metadatainformer.NewFilteredSharedInformerFactory with kinglet's informers.
// tweak may be nil, and so may transform, which WithTransform takes there.
func Metadata(client metadata.Interface, resync time.Duration, namespace string, tweak metadatainformer.TweakListOptionsFunc, transform cache.TransformFunc) metadatainformer.SharedInformerFactory {
	return newResources(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		lw := listWatch(client, client.Resource(gvr).Namespace(namespace), tweak)
		informer := cache.NewSharedIndexInformer(lw, &metav1.PartialObjectMetadata{}, resync, byNamespace())
		if err := informer.SetTransform(transform); err != nil {
			panic("BUG: an informer that has not started refuses a transform: " + err.Error())
		}
		return &generic{informer, metadatalister.NewRuntimeObjectShim(metadatalister.New(informer.GetIndexer(), gvr))}
	})
}

// generic is an informers.GenericInformer.
type generic struct {
	informer cache.SharedIndexInformer
	lister   cache.GenericLister
}

func (g *generic) Informer() cache.SharedIndexInformer { return g.informer }
func (g *generic) Lister() cache.GenericLister         { return g.lister }

// resources is an informer factory by resource.
type resources struct {
	make    func(schema.GroupVersionResource) informers.GenericInformer
	running sync.WaitGroup

	mu sync.Mutex
	// What follows is guarded by mu.

	informers, started map[schema.GroupVersionResource]informers.GenericInformer
	shut               bool
}

func newResources(create func(schema.GroupVersionResource) informers.GenericInformer) *resources {
	all := map[schema.GroupVersionResource]informers.GenericInformer{}
	return &resources{make: create, informers: all, started: maps.Clone(all)}
}

// ForResource returns the informer of a resource.
func (r *resources) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.informers[gvr]; !ok {
		r.informers[gvr] = r.make(gvr)
	}
	return r.informers[gvr]
}

// Start is StartWithContext until stop is closed.
func (r *resources) Start(stop <-chan struct{}) { r.StartWithContext(wait.ContextForChannel(stop)) }

// StartWithContext runs all informers that do not run yet, until ctx ends. It does not
// block, and does nothing after Shutdown.
func (r *resources) StartWithContext(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gvr, i := range r.informers {
		if _, runs := r.started[gvr]; !runs && !r.shut {
			r.started[gvr] = i
			r.running.Go(func() { i.Informer().RunWithContext(ctx) })
		}
	}
}

// WaitForCacheSync waits until all informers that were started have synced, or stop is
// closed, and returns which have.
func (r *resources) WaitForCacheSync(stop <-chan struct{}) map[schema.GroupVersionResource]bool {
	r.mu.Lock()
	started := maps.Clone(r.started)
	r.mu.Unlock()
	synced := make(map[schema.GroupVersionResource]bool, len(started))
	for gvr, i := range started {
		synced[gvr] = cache.WaitForCacheSync(stop, i.Informer().HasSynced)
	}
	return synced
}

// Shutdown waits until all informers have ended; what they were started with ends them.
// None starts afterwards.
func (r *resources) Shutdown() {
	r.mu.Lock()
	r.shut = true
	r.mu.Unlock()
	r.running.Wait()
}
