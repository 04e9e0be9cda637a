package faults_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
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
	"github.com/kinglet-go/kinglet/source"
)

// trouble is what happens to a server, and whether requests are answered at all meanwhile.
type trouble struct {
	deaf  bool // nothing is answered, and connections stay open
	watch bool // only watches meet it
	fault apiserver.Fault
}

func (tr *trouble) meets(q *apiserver.Request) bool { return !tr.watch || q.Verb == "watch" }

// client is how an informer reads, and through what.
type client struct {
	closures    bool // client-go's, without interception, and not a client of its own
	tardy       bool // a watch's headers come with its first byte, as from a server that never flushes
	noBookmarks bool
}

// informer returns an informer of config's ConfigMaps, which reads as c does.
func (c client) informer(t *testing.T, config *rest.Config) (*kinglet.Informer[object], *kinglet.Set) {
	t.Helper()
	config = rest.CopyConfig(config)
	if c.tardy {
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return tardy{rt} })
	}
	var src source.Source[object]
	var err error
	if c.closures {
		lw := kc.NewListWatchFromClient(kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient(), "configmaps", "", fields.Everything())
		src, err = source.FromListerWatcher[object](lw, source.Options{})
	} else {
		src, err = source.FromConfig[object](config, corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[object]{OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	return inf, kinglet.NewSet(inf)
}

type tardy struct{ http.RoundTripper }

func (l tardy) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.RoundTripper.RoundTrip(req)
	if err != nil || req.URL.Query().Get("watch") == "" {
		return resp, err
	}
	var first [1]byte
	n, err := resp.Body.Read(first[:])
	if err != nil && !errors.Is(err, io.EOF) {
		_ = resp.Body.Close()
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first[:n]), resp.Body), resp.Body}
	return resp, nil
}

// What Check and Status say is true, in the order of minutes: an informer that hears nothing
// because nothing is answered is not well, and one that hears all is.
func TestCheckFailsWhileNothingIsAnsweredAndOnlyThen(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(testkit.Trials(48)) {
		r := rand.New(rand.NewPCG(seed, i))
		tr := []trouble{
			{deaf: true, fault: apiserver.Fault{Delay: 24 * time.Hour}},
			{deaf: true, watch: true, fault: apiserver.Fault{Delay: 24 * time.Hour}},
			{fault: apiserver.Fault{Answer: unavailable()}},
			{watch: true, fault: apiserver.Fault{Answer: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)}},
			{watch: true, fault: apiserver.Fault{Answer: throttled()}},
			{fault: apiserver.Fault{Refuse: true}},
		}[r.IntN(6)]
		good := []time.Duration{30 * time.Second, 2 * time.Minute, 20 * time.Minute}[r.IntN(3)]
		c := client{closures: r.IntN(2) == 0, tardy: r.IntN(3) == 0, noBookmarks: r.IntN(3) == 0}
		outage, others := r.IntN(2) == 0, r.IntN(3) > 0
		if tr.deaf && (c.noBookmarks || c.tardy) && !others {
			others = true // nothing would tell a quiet server from one that is gone
		}
		what := fmt.Sprintf("trouble %d after %v: %+v, %+v, an outage before %v, others write %v", i, good, tr, c, outage, others)
		synctest.Test(t, func(t *testing.T) { says(t, what, tr, good, c, outage, others) })
	}
}

func says(t *testing.T, what string, tr trouble, good time.Duration, c client, outage, others bool) {
	var mu sync.Mutex
	now := (*trouble)(nil)
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	server := apiserver.New(storage, apiserver.Options{Inject: func(q *apiserver.Request) *apiserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		if now != nil && now.meets(q) {
			return &now.fault
		}
		return &apiserver.Fault{NoBookmarks: c.noBookmarks}
	}})
	defer server.Close()
	inf, set := c.informer(t, server.Config())
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = set.Run(ctx) })
	defer func() { cancel(); running.Wait() }()
	pass := func(d time.Duration) (ill int) {
		for range int(d / (15 * time.Second)) {
			if others {
				storage.Skip(1)
			}
			testbubble.Pass(15 * time.Second)
			if set.Check(nil) != nil {
				ill++
			}
		}
		return ill
	}
	become := func(tr *trouble) {
		mu.Lock()
		now = tr
		mu.Unlock()
		server.Disconnect()
	}
	if ill := pass(good); ill > 0 {
		t.Errorf("%s: Check failed %d times while all was well: %v", what, ill, set.Check(nil))
	}
	if outage {
		become(&trouble{fault: apiserver.Fault{Answer: unavailable()}})
		pass(time.Minute)
	}
	become(&tr)
	pass(20 * time.Minute)
	if ill := pass(time.Hour); ill < 200 {
		t.Errorf("%s: of 240 times, Check failed %d; %+v", what, ill, inf.Status())
	}
	become(nil)
	pass(2 * time.Minute)
	if c.tardy {
		pass(4 * time.Minute) // only the end of a watch says that it was answered
	}
	if ill := pass(time.Hour); ill > 0 {
		t.Errorf("%s: Check failed %d times when all was well again; %+v", what, ill, inf.Status())
	}
	if _, err := storage.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "o"}}); err != nil {
		t.Error(err)
	}
	testbubble.Pass(time.Minute)
	if n := inf.Store().Len(); n != 1 {
		t.Errorf("%s: %d objects", what, n)
	}
}
