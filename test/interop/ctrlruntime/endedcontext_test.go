package ctrlruntime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// listing counts the informers that reads make, and lets each of them list before the
// read goes on: OnImplicit is called between the two.
func listing(made *int) ctrlruntime.Options {
	return ctrlruntime.Options{OnImplicit: func(_ schema.GroupVersionKind, _ string) {
		*made++
		synctest.Wait()
	}}
}

func TestACallWhoseContextHasEndedTimesOutIfItMakesTheInformer(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ended := range map[string]func() (context.Context, context.CancelFunc){
		"cancelled": func() (context.Context, context.CancelFunc) { return cancelled, func() {} },
		"expired": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), -time.Second)
		},
	} {
		for form := range map[string]bool{"typed": true, "unstructured": true, "metadata": true} {
			t.Run(name+", "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := ended()
					defer cancel()
					expectTimeouts(t, ctx, form)
				})
			})
		}
	}
}

func expectTimeouts(t *testing.T, ctx context.Context, form string) {
	calls := map[string]func(c cache.Cache) error{
		"Get":         func(c cache.Cache) error { return c.Get(ctx, keyed("a", "c"), object(form, "", "")) },
		"List":        func(c cache.Cache) error { return c.List(ctx, list(form)) },
		"List in a":   func(c cache.Cache) error { return c.List(ctx, list(form), client.InNamespace("a")) },
		"GetInformer": func(c cache.Cache) error { _, err := c.GetInformer(ctx, object(form, "", "")); return err },
	}
	for name, call := range calls {
		for _, opts := range []cache.Options{{}, {DefaultNamespaces: spaces("a", "b")}} {
			w := newWorld(t)
			w.create(configMap("a", "c", nil))
			made := 0
			c, end := w.run(listing(&made).NewCache, opts)
			if err := call(c); !apierrors.IsTimeout(err) {
				t.Errorf("%s, which makes the informer: %v", name, err)
			}
			// It has listed by now, and answers every reader.
			synctest.Wait()
			if err := call(c); err != nil {
				t.Errorf("%s, of an informer that has synced: %v", name, err)
			}
			if name != "GetInformer" && made != 1 {
				t.Errorf("%s made %d informers", name, made)
			}
			end()
		}
	}
}

func TestACallWhoseContextHasEndedIsToldFirstThatTheCacheDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		w := newWorld(t)
		c, err := ctrlruntime.NewCache(w.server.Config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err == nil || apierrors.IsTimeout(err) {
			t.Error(err)
		}
	})
}
