package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// Each fault, on the wire, as a client sees it.
func TestEachFaultIsWhatItSays(t *testing.T) {
	for name, c := range map[string]struct {
		fault apiserver.Fault
		want  string
	}{
		"ends at once":          {apiserver.Fault{EndAfter: -1}, "end"},
		"ends after one event":  {apiserver.Fault{EndAfter: 1}, "ADDED:a0 end"},
		"ends with an error":    {apiserver.Fault{EndAfter: 1, End: apierrors.NewInternalError(fmt.Errorf("no"))}, "ADDED:a0 ERROR:500 end"},
		"has no bookmarks":      {apiserver.Fault{NoBookmarks: true}, "ADDED:a0 ADDED:b0"},
		"says everything twice": {apiserver.Fault{Duplicate: true}, "ADDED:a0 ADDED:a0 ADDED:b0 ADDED:b0 BOOKMARK:initial-events-end"},
		"is behind":             {apiserver.Fault{Behind: 1}, "ADDED:a0 BOOKMARK:initial-events-end"},
		"stands still":          {apiserver.Fault{StallAfter: -1}, ""},
		"trickles":              {apiserver.Fault{Trickle: 7, TrickleEvery: time.Millisecond}, "ADDED:a0 ADDED:b0 BOOKMARK:initial-events-end"},
	} {
		t.Run(name, func(t *testing.T) {
			inScripted(t, apiserver.Options{}, apiserver.Script{{Match: apiserver.On("watch-list"), Fault: c.fault}}, func(w *world) {
				w.create("a", nil)
				w.create("b", nil)
				i := w.watch(metav1.ListOptions{
					SendInitialEvents: yes(), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
				})
				var got []string
				for n := 0; n < 10 && !slices.Contains(got, "end"); n++ {
					testbubble.Pass(time.Second)
					got = append(got, strings.Fields(w.seen(i))...)
				}
				if got := strings.Join(got, " "); got != c.want {
					w.Errorf("seen  %s\nwanted %s", got, c.want)
				}
			})
		})
	}
}

func TestAnObjectThatIsDamagedDoesNotDecodeAndTheOthersDo(t *testing.T) {
	damage := func(k types.NamespacedName) bool { return k.Name == "b" }
	in(t, apiserver.Options{Inject: func(*apiserver.Request) *apiserver.Fault { return &apiserver.Fault{Damage: damage} }}, func(w *world) {
		rv := w.create("a", nil).ResourceVersion
		i := w.watch(metav1.ListOptions{ResourceVersion: rv})
		w.create("b", nil)
		w.create("c", nil)
		got := strings.Fields(w.seen(i))
		if !slices.Contains(got, "ERROR:500") && !slices.Contains(got, "end") {
			w.Errorf("the damaged object went through: %v", got)
		}
		if _, err := w.client.CoreV1().ConfigMaps("default").List(w.Context(), metav1.ListOptions{}); err == nil {
			w.Error("a list with the damaged object decodes")
		}
	})
}

func TestRefusedAndCutConnectionsAreErrorsAndTheNextRequestWorks(t *testing.T) {
	script := apiserver.Script{
		{Match: apiserver.On("list"), Fault: apiserver.Fault{Refuse: true}},
		{Match: apiserver.On("list"), Fault: apiserver.Fault{CutAfter: 20}},
		{Match: apiserver.On("list"), Fault: apiserver.Fault{Answer: apierrors.NewServiceUnavailable("busy")}},
	}
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	server := apiserver.New(storage, apiserver.Options{Inject: script.Inject()})
	defer server.Close()
	cfg, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := clientOf(t, cfg, contentProtobuf)
	failures := 0
	for range 10 {
		_, err := client.CoreV1().ConfigMaps("").List(context.Background(), metav1.ListOptions{})
		if err == nil {
			break
		}
		failures++
	}
	if failures == 0 || server.Requests() < 4 {
		t.Errorf("%d failures, %d requests", failures, server.Requests())
	}
}

func TestInjectMayCallItsServer(t *testing.T) {
	var server *apiserver.Server
	var calls atomic.Int64
	server = apiserver.New(apiserver.NewStorage(apiserver.ConfigMaps), apiserver.Options{Inject: func(*apiserver.Request) *apiserver.Fault {
		server.Hold()
		server.Advance(1)
		server.Release()
		server.SetToken("")
		calls.Store(int64(server.Requests()))
		return nil
	}})
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := clientOf(t, server.Config(), contentProtobuf).CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
	if err != nil || calls.Load() != 1 {
		t.Errorf("%d requests, and the list: %v", calls.Load(), err)
	}
}

func TestARequestWithoutTheTokenIsUnauthorized(t *testing.T) {
	in(t, apiserver.Options{Token: "old"}, func(w *world) {
		w.list(metav1.ListOptions{})
		w.server.SetToken("new")
		if _, err := w.client.CoreV1().ConfigMaps("").List(w.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
			w.Errorf("answered with %v", err)
		}
	})
}

func TestReplicasAnswerInTurnAndOneMayLagBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := apiserver.NewStorage(apiserver.ConfigMaps)
		late := apiserver.New(storage, apiserver.Options{})
		defer late.Close()
		server := apiserver.New(storage, apiserver.Options{Replicas: []*apiserver.Server{late}})
		defer server.Close()
		w := &world{t, storage, server, clientOf(t, server.Config(), contentProtobuf)}
		late.Hold()
		w.create("a", nil)
		storage.Compact(storage.Revision()) // of which its watch cache knows nothing
		var found []int
		for range 4 {
			found = append(found, len(w.list(metav1.ListOptions{ResourceVersion: "0"}).Items))
		}
		if !slices.Equal(found, []int{0, 1, 0, 1}) {
			t.Errorf("the lists have %v objects", found)
		}
	})
}

func TestAPlanIsDecidedByItsSeedAndPlaysEveryFault(t *testing.T) {
	played := map[string]int{}
	for seed := range uint64(200) {
		p, again := &apiserver.Plan{Seed: seed}, &apiserver.Plan{Seed: seed}
		for n := 1; n <= 40; n++ {
			for _, verb := range []string{"list", "watch"} {
				r := &apiserver.Request{Number: n, Verb: verb}
				if n%3 == 0 && verb == "watch" {
					r.Options.SendInitialEvents = yes()
				}
				name, _ := p.Of(r)
				if other, _ := again.Of(r); other != name {
					t.Fatalf("seed %d, request %d: %q, then %q", seed, n, name, other)
				}
				played[name]++
			}
		}
	}
	if len(played) < 24 {
		t.Errorf("%d faults were played: %v", len(played)-1, played)
	}
}
