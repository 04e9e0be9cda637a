package deadpeers_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// consumer is an informer of pods of a server: it returns how many objects it
// has, and what ends it.
type consumer func(t *testing.T, cfg *rest.Config) (objects func() int, stop func())

func consumers() map[string]consumer {
	return map[string]consumer{
		"kinglet": func(t *testing.T, cfg *rest.Config) (func() int, func()) {
			inf, stop := informed(t, cfg, source.Options{})
			return func() int { return inf.Status().Objects }, stop
		},
		"cache": func(t *testing.T, cfg *rest.Config) (func() int, func()) {
			client := kubernetes.NewForConfigOrDie(cfg).CoreV1().RESTClient()
			inf := cache.NewSharedIndexInformer(cache.NewListWatchFromClient(client, "pods", "", fields.Everything()),
				&corev1.Pod{}, 0, cache.Indexers{})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				inf.RunWithContext(ctx)
			}()
			synctest.Wait()
			return func() int { return len(inf.GetStore().ListKeys()) }, func() {
				cancel()
				<-ended
			}
		},
	}
}

// TestASilentStreamIsWatchedAgainFromItsVersion has streams go silent 100 s
// after they began, without the server's or the client's doing.
func TestASilentStreamIsWatchedAgainFromItsVersion(t *testing.T) {
	for _, tc := range []struct {
		name      string
		bookmarks time.Duration
		silent    time.Duration // for how long at least
		noticed   time.Duration // and at most, both since 100 s
	}{
		// The last bookmark came at 90 s: 90 + 3*30 = 180.
		{"after three bookmark intervals", 30 * time.Second, 79 * time.Second, 80 * time.Second},
		// 5 to 10 minutes, and half a minute.
		{"after its timeout where there are none", -1, 3*time.Minute + 49*time.Second, 8*time.Minute + 50*time.Second},
	} {
		for name, run := range consumers() {
			t.Run(tc.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var requests asked
					storage := apiserver.NewStorage(apiserver.Pods)
					server := apiserver.New(storage, apiserver.Options{BookmarkInterval: tc.bookmarks, Inject: requests.inject})
					defer server.Close()
					cfg := server.Config()
					wire := &lines{dial: cfg.Dial}
					cfg.Dial = wire.Dial
					create(t, storage, "a")
					objects, stop := run(t, cfg)
					defer wire.close()
					defer stop()
					// What has not changed since the watch began has no bookmarks.
					version := create(t, storage, "b")
					testbubble.Elapse(100 * time.Second)
					requests.take()
					wire.die()
					create(t, storage, "c")
					testbubble.Elapse(tc.silent)
					if got := requests.take(); objects() != 2 || len(got) > 0 {
						t.Errorf("after %v: %d objects, asked %q", tc.silent, objects(), got)
					}
					testbubble.Elapse(tc.noticed - tc.silent)
					if got := requests.take(); objects() != 3 || !slices.Equal(got, []string{`watch "` + version + `"`}) {
						t.Errorf("after %v: %d objects, asked %q", tc.noticed, objects(), got)
					}
				})
			})
		}
	}
}
