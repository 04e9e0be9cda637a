package ctrlruntime

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// calling is a cache whose informer of pods calls functions of the program, one of which
// reads the cache once something is under way that concerns the informer.
type calling struct {
	cache.Cache
	t *testing.T
	// turn is the function that is to read.
	turn         atomic.Pointer[string]
	inside, goOn chan struct{}
	read         chan error
}

// function is called by the function of a name.
func (c *calling) function(name string) {
	if turn := c.turn.Load(); turn == nil || *turn != name || !c.turn.CompareAndSwap(turn, nil) {
		return
	}
	close(c.inside)
	<-c.goOn
	_, err := c.GetInformer(c.t.Context(), &corev1.Node{})
	if err == nil {
		err = c.Get(c.t.Context(), keyed("a", "c"), &corev1.ConfigMap{})
	}
	c.read <- err
}

func (c *calling) index(name string) client.IndexerFunc {
	return func(client.Object) []string {
		c.function(name)
		return []string{"x"}
	}
}

// A function of the program may read the cache, and make informers, whatever is being done
// with the informer that calls it. Time is real, since it would wait for a mutex.
func TestAFunctionOfTheProgramReadsTheCacheWhateverIsDoneWithItsInformer(t *testing.T) {
	for form, of := range podForms {
		for _, name := range []string{"an index", "IndexField", "a handler", "a Transform"} {
			for what, do := range map[string]func(ctx context.Context, c *calling, obj client.Object) error{
				"it is removed": func(ctx context.Context, c *calling, obj client.Object) error { return c.RemoveInformer(ctx, obj) },
				"it is removed and made again": func(ctx context.Context, c *calling, obj client.Object) error {
					if err := c.RemoveInformer(ctx, obj); err != nil {
						return err
					}
					return c.IndexField(ctx, obj, "x", c.index("again"))
				},
				"its metadata is removed": func(ctx context.Context, c *calling, _ client.Object) error {
					return c.RemoveInformer(ctx, anObject(podMetadata))
				},
				"it is indexed": func(ctx context.Context, c *calling, obj client.Object) error {
					return c.IndexField(ctx, obj, "y", c.index("y"))
				},
				"its namespaces are set": func(ctx context.Context, c *calling, obj client.Object) error {
					return ctrlruntime.SetNamespaces(ctx, c.Cache, obj, spaces("b"))
				},
			} {
				t.Run(form+", "+name+", "+what, func(t *testing.T) {
					w := newWorld(t)
					w.create(pod("a", "p", "n1", nil), configMap("a", "c", nil))
					c := &calling{t: t, inside: make(chan struct{}), goOn: make(chan struct{}), read: make(chan error, 1)}
					opts := cache.Options{Mapper: mapper(), Scheme: scheme.Scheme}
					if name == "a Transform" {
						opts.DefaultTransform = func(obj any) (any, error) {
							c.function(name)
							return obj, nil
						}
					}
					var err error
					c.Cache, err = ctrlruntime.NewCache(w.server.Config(), opts)
					ok(t, err)
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() { ended <- c.Start(ctx) }()
					c.WaitForCacheSync(ctx)
					ok(t, c.Get(ctx, keyed("a", "c"), &corev1.ConfigMap{}))
					informer, err := c.GetInformer(ctx, of.one())
					ok(t, err)
					ok(t, c.Get(ctx, keyed("a", "p"), anObject(podMetadata)))
					ok(t, c.IndexField(ctx, of.one(), "x", c.index("an index")))
					_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { c.function("a handler") }})
					ok(t, err)
					c.turn.Store(&name)
					indexed := make(chan error, 1)
					if name == "IndexField" {
						go func() { indexed <- c.IndexField(ctx, of.one(), "z", c.index(name)) }()
					} else {
						indexed <- nil
						w.create(pod("a", "q", "n1", nil))
					}
					<-c.inside
					done := make(chan error, 1)
					go func() { done <- do(ctx, c, of.one()) }()
					// It is under way, or waits: perhaps for a mutex, for which synctest.Wait would never
					// return. If it has not begun yet, less is tested.
					time.Sleep(20 * time.Millisecond)
					close(c.goOn)
					for what, done := range map[string]chan error{"the read": c.read, "what is done": done, "IndexField": indexed} {
						select {
						case err := <-done:
							ok(t, err)
						case <-time.After(5 * time.Second):
							t.Fatal(what, "has not returned after 5 s")
						}
					}
					cancel()
					ok(t, <-ended)
				})
			}
		}
	}
}
