package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
		silent, outage, others := r.IntN(3) == 0, r.IntN(2) == 0, r.IntN(3) > 0
		if tr.deaf && silent && !others {
			others = true // nothing would tell a quiet server from one that is gone
		}
		what := fmt.Sprintf("trouble %d after %v: %+v, no bookmarks %v, an outage before %v, others write %v", i, good, tr, silent, outage, others)
		synctest.Test(t, func(t *testing.T) { says(t, what, tr, good, silent, outage, others) })
	}
}

func says(t *testing.T, what string, tr trouble, good time.Duration, silent, outage, others bool) {
	var mu sync.Mutex
	now := (*trouble)(nil)
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	server := apiserver.New(storage, apiserver.Options{Inject: func(q *apiserver.Request) *apiserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		if now != nil && now.meets(q) {
			return &now.fault
		}
		return &apiserver.Fault{NoBookmarks: silent}
	}})
	defer server.Close()
	src, err := source.FromConfig[object](server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[object]{OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	set := kinglet.NewSet(inf)
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
