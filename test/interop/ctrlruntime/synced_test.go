package ctrlruntime

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// stuckIn is a transport whose requests in a namespace end when released is closed, not
// when they are canceled.
type stuckIn struct {
	http.RoundTripper
	namespace string
	released  chan struct{}
}

func (s *stuckIn) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/namespaces/"+s.namespace+"/") {
		<-s.released
	}
	return s.RoundTripper.RoundTrip(r)
}

// The informer has not synced while its last unlisted namespace is being removed,
// although all others have been listed.
func TestGetInformerReturnsWhenTheInformerHasSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		released := make(chan struct{})
		stuck := func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &stuckIn{rt, "b", released} })
			return ctrlruntime.NewCache(cfg, opts)
		}
		c, end := w.run(stuck, cache.Options{DefaultNamespaces: spaces("a", "b")})
		defer end()
		ctx := context.Background()
		if _, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		left := make(chan error, 1)
		go func() { left <- ctrlruntime.SetNamespaces(ctx, c, &corev1.Pod{}, spaces("a")) }()
		synctest.Wait()
		got := make(chan error, 1)
		go func() {
			i, err := c.GetInformer(ctx, &corev1.Pod{})
			if err == nil && !i.HasSynced() {
				t.Error("GetInformer has returned an informer that has not synced")
			}
			got <- err
		}()
		waited := make(chan bool, 1)
		go func() {
			ok := c.WaitForCacheSync(ctx)
			if i, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil || !i.HasSynced() {
				t.Error("WaitForCacheSync has returned, and an informer has not synced", err)
			}
			waited <- ok
		}()
		synctest.Wait()
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err != nil {
			t.Error("a read of a namespace that has been listed:", err)
		}
		close(released)
		for _, err := range []error{<-left, <-got} {
			if err != nil {
				t.Error(err)
			}
		}
		if !<-waited {
			t.Error("the cache has not synced")
		}
	})
}
