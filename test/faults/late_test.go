package faults_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// network is one that stays bad for hours, after ten good minutes.
type network struct {
	version apiserver.Version
	outage  time.Duration // before all that follows
	cut     time.Duration // is how long an answer may last, if it is not 0
	ends    bool          // an answer that is cut ends well
	refused int           // per cent of all requests
	refusal apiserver.Fault
	gone    bool          // what happened is compacted away with each change
	every   time.Duration // something changes
	quiet   bool          // what changes is of another kind, but for the last
	silent  int           // bookmarks: 0 come, 1 come while the network is good, 2 never come
}

func newNetwork(r *rand.Rand) network {
	some := func(ds ...time.Duration) time.Duration { return ds[r.IntN(len(ds))] }
	n := network{
		version: apiserver.Versions()[r.IntN(len(apiserver.Versions()))], outage: some(0, 20*time.Second, 2*time.Minute),
		cut: some(0, 5*time.Second, 15*time.Second, 50*time.Second, 150*time.Second), ends: r.IntN(2) == 0,
		refused: r.IntN(26), gone: r.IntN(4) == 0, every: some(7*time.Second, 37*time.Second, 97*time.Second),
		quiet: r.IntN(3) == 0, silent: r.IntN(3),
	}
	n.refusal = []apiserver.Fault{
		{Answer: unavailable()}, {Answer: internal()}, {Answer: apierrors.NewTimeoutError("slow", 0)},
		{Answer: badGateway()}, {Refuse: true}, {Answer: apierrors.NewTooManyRequests("slow down", 1)},
		{Answer: apierrors.NewServerTimeout(schema.GroupResource{Resource: "configmaps"}, "list", 1)},
	}[r.IntN(7)]
	if _, asks := apierrors.SuggestsClientDelay(n.refusal.Answer); asks {
		n.refused = r.IntN(75)
	}
	return n
}

// cutting is a proxy that bounds how long an answer lasts.
type cutting struct {
	http.RoundTripper
	*network
}

func (c cutting) RoundTrip(req *http.Request) (*http.Response, error) {
	if c.cut == 0 {
		return c.RoundTripper.RoundTrip(req)
	}
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := c.RoundTripper.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cutBody{resp.Body, req.Context(), cancel, time.AfterFunc(c.cut, cancel), c.ends}
	return resp, nil
}

type cutBody struct {
	io.ReadCloser
	asked  context.Context
	cancel func()
	timer  *time.Timer
	ends   bool
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == nil || err == io.EOF || b.asked.Err() != nil:
	case b.ends:
		err = io.EOF
	default:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *cutBody) Close() error {
	b.timer.Stop()
	b.cancel()
	return b.ReadCloser.Close()
}

// late returns how late changes are heard of on average, over hours, and how many lists that cost.
func (n network) late(t *testing.T, seed uint64, run func(ctx context.Context, config *rest.Config, heard func(object))) (mean time.Duration, lists int) {
	var mu sync.Mutex
	bad, down := false, false
	r := rand.New(rand.NewPCG(seed, 1))
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	server := apiserver.New(storage, apiserver.Options{Version: n.version, Inject: func(q *apiserver.Request) *apiserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case down:
			return &apiserver.Fault{Answer: unavailable()}
		case bad && r.IntN(100) < n.refused:
			return &n.refusal
		case bad && q.Verb == "list":
			lists++
		}
		return &apiserver.Fault{NoBookmarks: n.silent == 2 || bad && n.silent == 1}
	}})
	defer server.Close()
	wrote, lates := map[string]time.Time{}, map[string]time.Duration{}
	ctx, cancel := context.WithCancel(t.Context())
	config := server.Config()
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return cutting{rt, &n} })
	var running sync.WaitGroup
	running.Go(func() {
		run(ctx, config, func(o object) {
			mu.Lock()
			defer mu.Unlock()
			for k, at := range wrote { // with it, what came before is heard of
				if len(k) < len(o.Data["n"]) || len(k) == len(o.Data["n"]) && k <= o.Data["n"] {
					lates[k] = time.Since(at)
					delete(wrote, k)
				}
			}
		})
	})
	testbubble.Pass(10 * time.Minute)
	set := func(isBad, isDown bool) {
		mu.Lock()
		defer mu.Unlock()
		bad, down = isBad, isDown
	}
	if n.outage > 0 {
		set(false, true)
		server.Disconnect()
		testbubble.Pass(n.outage)
	}
	set(true, false)
	server.Disconnect()
	othersWrite := func(d time.Duration) {
		for range int(d / (6 * time.Second)) {
			storage.Skip(1)
			testbubble.Pass(6 * time.Second)
		}
	}
	othersWrite(5 * time.Minute)
	last := int(3*time.Hour/n.every) - 1
	for i := range last + 1 {
		if name := strconv.Itoa(i); !n.quiet || i == last {
			mu.Lock()
			wrote[name] = time.Now()
			mu.Unlock()
			if _, err := storage.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "o"}, Data: map[string]string{"n": name}}); err != nil {
				t.Error(err)
			}
		}
		storage.Skip(1)
		if n.gone {
			storage.Compact(storage.Revision() - 2)
		}
		testbubble.Pass(n.every)
	}
	othersWrite(15 * time.Minute)
	cancel()
	running.Wait()
	for _, at := range wrote {
		lates["never"+at.String()] = time.Since(at)
	}
	for _, d := range lates {
		mean += d / time.Duration(len(lates))
	}
	return mean, lists
}

// On networks that stay bad, an informer hears of changes in the same order of time as
// client-go's, and is well meanwhile: no outage, no refusal and no watch that is cut makes it late
// for longer. What the bounds leave are rows of refusals, of which client-go's waits are shorter.
// Nor does it list more than once a BackoffMax.
func TestOnBadNetworksChangesAreHeardOfAsSoonAsByClientGo(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(testkit.Trials(24)) {
		n := newNetwork(rand.New(rand.NewPCG(seed, i)))
		synctest.Test(t, func(t *testing.T) {
			var ill error
			mean, lists := n.late(t, seed+i, func(ctx context.Context, config *rest.Config, heard func(object)) {
				inf, set := client{}.informer(t, config)
				_, err := inf.AddHandler(kinglet.HandlerFuncs[object]{
					OnAdd:    func(_ context.Context, o object, _ bool) { heard(o) },
					OnUpdate: func(_ context.Context, _, o object) { heard(o) },
				}, kinglet.HandlerOptions{})
				if err != nil {
					t.Error(err)
				}
				var looking sync.WaitGroup
				looking.Go(func() {
					for ctx.Err() == nil {
						if err := set.Check(nil); err != nil {
							ill = err
						}
						testbubble.Pass(15 * time.Second)
					}
				})
				_ = set.Run(ctx)
				looking.Wait()
			})
			if ill != nil && n.refused <= 15 { // else rows of refusals are long
				t.Errorf("network %d %+v: %v", i, n, ill)
			}
			theirs, _ := n.late(t, seed+i, func(ctx context.Context, config *rest.Config, heard func(object)) {
				client := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient()
				inf := kc.NewSharedInformer(kc.NewListWatchFromClient(client, "configmaps", "", fields.Everything()), &corev1.ConfigMap{}, 0)
				_ = inf.SetWatchErrorHandlerWithContext(func(context.Context, *kc.Reflector, error) {}) // the default one sleeps by another bubble's time
				_, _ = inf.AddEventHandler(kc.ResourceEventHandlerFuncs{
					AddFunc:    func(o any) { heard(o.(object)) },
					UpdateFunc: func(_, o any) { heard(o.(object)) },
				})
				inf.RunWithContext(ctx)
			})
			if mean > 2*theirs+5*time.Second && !n.quiet { // one change is no mean
				t.Errorf("network %d %+v: %v, and client-go %v", i, n, mean, theirs)
			}
			if most := 20 + int(3*time.Hour/(30*time.Second)); lists > most {
				t.Errorf("network %d %+v: %d lists", i, n, lists)
			}
		})
	}
}
