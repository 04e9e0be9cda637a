package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// mirror is the naive twin: a map that follows what a source says.
type mirror struct {
	version int64
	pods    map[store.Key]*corev1.Pod
}

func newMirror(t testing.TB, src Source[*corev1.Pod], limit int64) *mirror {
	m := &mirror{pods: map[store.Key]*corev1.Pod{}}
	req := ListRequest[*corev1.Pod]{Limit: limit}
	for {
		got, err := list(t, src, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range got.items {
			m.pods[it.Key] = it.Object
		}
		if m.version != 0 && rv(m.version) != got.version {
			t.Errorf("a page of version %s after one of %d", got.version, m.version)
		}
		m.version = must(parseRV(got.version))
		if req.Continue = got.pages[0].Continue; req.Continue == "" {
			return m
		}
	}
}

func (m *mirror) apply(t testing.TB, e Event[*corev1.Pod]) {
	v := must(parseRV(e.ResourceVersion))
	if e.Type == Bookmark && v < m.version || e.Type != Bookmark && v <= m.version {
		t.Errorf("%s of version %d after %d", e.Type, v, m.version)
	}
	m.version = v
	held, ok := m.pods[e.Key]
	switch e.Type {
	case Added:
		if ok {
			t.Errorf("%s added twice", e.Key)
		}
		m.pods[e.Key] = e.Object
	case Modified:
		if !ok || held.UID != e.UID {
			t.Errorf("%s modified, uid %s, held %v", e.Key, e.UID, held)
		}
		m.pods[e.Key] = e.Object
	case Deleted:
		if !ok || held.UID != e.UID {
			t.Errorf("%s deleted, uid %s, held %v", e.Key, e.UID, held)
		}
		delete(m.pods, e.Key)
	}
}

func (m *mirror) equals(t testing.TB, s *Static[*corev1.Pod]) {
	t.Helper()
	want := map[store.Key]*corev1.Pod{}
	for _, p := range s.Objects() {
		want[must(ObjectKey(p))] = p
	}
	if diff := differences(want, m.pods); diff != "" {
		t.Errorf("static and mirror (-static +mirror):\n%s", diff)
	}
}

func TestAMirrorOfAStaticSourceFollowsIt(t *testing.T) {
	seed := int64(testseed.Of(t))
	r := rand.New(rand.NewSource(seed))
	synctest.Test(t, func(t *testing.T) {
		s := NewStatic[*corev1.Pod]()
		write := func() {
			p := pod("ns", fmt.Sprint("p", r.Intn(20)), "")
			p.UID = ""
			p.Spec.NodeName = strconv.Itoa(r.Int())
			key := must(ObjectKey(p))
			exists := slices.ContainsFunc(s.Objects(), func(o *corev1.Pod) bool { return o.Name == p.Name })
			var err error
			switch r.Intn(3) {
			case 0:
				if err = s.Add(p); exists != apierrors.IsAlreadyExists(err) {
					t.Errorf("add, exists %v: %v", exists, err)
				}
			case 1:
				if err = s.Update(p); exists == apierrors.IsNotFound(err) {
					t.Errorf("update, exists %v: %v", exists, err)
				}
			case 2:
				if err = s.Delete(key); exists == apierrors.IsNotFound(err) {
					t.Errorf("delete, exists %v: %v", exists, err)
				}
			}
			if r.Intn(10) == 0 {
				s.Bookmark()
			}
		}
		for range 50 {
			write()
		}
		m := newMirror(t, s, 1+r.Int63n(30))
		for range 20 {
			for range r.Intn(10) {
				write()
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- s.Watch(ctx, WatchRequest[*corev1.Pod]{ResourceVersion: rv(m.version)}, func(events []Event[*corev1.Pod]) error {
					for _, e := range events {
						m.apply(t, e)
					}
					return nil
				})
			}()
			synctest.Wait()
			for range r.Intn(10) {
				write()
			}
			if r.Intn(2) == 0 {
				s.Expire()
			}
			synctest.Wait()
			m.equals(t, s)
			want := context.Canceled
			switch r.Intn(3) {
			case 0:
				want = nil
				s.Disconnect(nil)
			case 1:
				want = errEnough
				s.Disconnect(errEnough)
			}
			if want == context.Canceled {
				cancel()
			}
			if err := <-done; err != want {
				t.Errorf("the watch ended with %v, want %v", err, want)
			}
			cancel()
		}
		if st := s.Stats(); st.Open != 0 || st.Watches != 20 {
			t.Errorf("%+v", st)
		}
	})
}

func TestStaticAnswersAsAServerDoes(t *testing.T) {
	s := NewStatic(pod("ns", "b", ""), pod("ns", "a", ""), pod("other", "c", ""))
	first, err := list(t, s, ListRequest[*corev1.Pod]{Limit: 2})
	if err != nil || len(first.items) != 2 || first.pages[0].Remaining != 1 || first.items[0].Key != nsName("ns", "a") {
		t.Fatalf("%+v: %v", first, err)
	}
	if err := s.Delete(nsName("other", "c")); err != nil {
		t.Fatal(err)
	}
	second, err := list(t, s, ListRequest[*corev1.Pod]{Continue: first.pages[0].Continue, Limit: 2})
	if err != nil || len(second.items) != 1 || second.version != first.version || second.items[0].Key.Name != "c" {
		t.Errorf("the second page is of another state: %+v: %v", second, err)
	}
	if _, err := list(t, s, ListRequest[*corev1.Pod]{ResourceVersion: "1000", NotOlderThan: true}); !apierrors.IsTimeout(err) {
		t.Errorf("a version to come: %v", err)
	}
	for _, token := range []string{"x", "1:x", "x:1", "1:-1"} {
		if _, err := list(t, s, ListRequest[*corev1.Pod]{Continue: token}); !apierrors.IsBadRequest(err) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	if _, err := list(t, s, ListRequest[*corev1.Pod]{ResourceVersion: "x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("%v", err)
	}
	s.Expire()
	if _, err := list(t, s, ListRequest[*corev1.Pod]{Continue: first.pages[0].Continue}); !apierrors.IsResourceExpired(err) {
		t.Errorf("an old token: %v", err)
	}
	gone, err := watchAll(t, s, WatchRequest[*corev1.Pod]{ResourceVersion: first.version})
	if err != nil || len(gone.events) != 1 || gone.events[0].Type != Error || !apierrors.IsResourceExpired(gone.events[0].Err) {
		t.Errorf("an old version: %+v: %v", gone.events, err)
	}
}

func TestStaticFaultsAreWhatTheTestSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStatic(pod("ns", "a", ""), pod("ns", "", ""))
		s.FailLists(2, errEnough)
		s.FailWatches(-1, errEnough)
		for i, want := range []error{errEnough, errEnough, nil} {
			if _, err := list(t, s, ListRequest[*corev1.Pod]{}); err != want {
				t.Errorf("list %d: %v", i, err)
			}
			if _, err := watchAll(t, s, WatchRequest[*corev1.Pod]{Timeout: 1}); err != errEnough {
				t.Errorf("watch %d: %v", i, err)
			}
		}
		s.FailWatches(0, nil)
		refused := apierrors.NewBadRequest("no watch-list")
		s.RefuseWatchList(refused)
		if _, err := watchAll(t, s, WatchRequest[*corev1.Pod]{SendInitialEvents: true}); !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
		s.RefuseWatchList(nil)
		s.WithholdBookmarks(true)
		start := time.Now()
		got, err := watchAll(t, s, WatchRequest[*corev1.Pod]{SendInitialEvents: true, Timeout: time.Minute})
		if err != nil || time.Since(start) != time.Minute || len(got.events) != 2 {
			t.Errorf("%d events after %v: %v", len(got.events), time.Since(start), err)
		}
		// The nameless one comes first, as one that has no key.
		if ie, ok := errors.AsType[*ItemError](got.events[0].Err); !ok || ie.Stage != StageKey {
			t.Errorf("%+v", got.events[0])
		}
		s.WithholdBookmarks(false)

		var seen watched[*corev1.Pod]
		done := make(chan error, 1)
		go func() {
			done <- s.Watch(t.Context(), WatchRequest[*corev1.Pod]{SendInitialEvents: true}, seen.batch)
		}()
		synctest.Wait()
		odd := Event[*corev1.Pod]{Type: Unknown}
		odd.Err = errEnough
		broken := Event[*corev1.Pod]{Type: Modified, Item: brokenItem[*corev1.Pod](StageDecode, encoding.Identity{Key: nsName("ns", "a"), Version: "9"}, errEnough)}
		s.Send(odd, broken)
		s.Bookmark()
		s.Disconnect(errEnough)
		if err := <-done; err != errEnough || len(seen.events) != 6 {
			t.Fatalf("%d events: %v", len(seen.events), err)
		}
		if e := seen.events[2]; !e.InitialEventsEnd {
			t.Errorf("%+v", e)
		}
		if e := seen.events[3]; e.Type != Unknown || e.Err != errEnough {
			t.Errorf("%+v", e)
		}
		if e := seen.events[4]; e.Type != Modified || e.Err == nil || e.Key != nsName("ns", "a") {
			t.Errorf("%+v", e)
		}
		if e := seen.events[5]; e.Type != Bookmark || e.InitialEventsEnd || e.ResourceVersion != s.ResourceVersion() {
			t.Errorf("%+v", e)
		}
	})
}

func TestStaticHandsOutCopies(t *testing.T) {
	given := pod("ns", "a", "")
	s := NewStatic(given)
	given.Spec.NodeName = "spoiled"
	got := must(list(t, s, ListRequest[*corev1.Pod]{}))
	got.items[0].Object.Spec.NodeName = "spoiled"
	s.Objects()[0].Spec.NodeName = "spoiled"
	events, _ := watchOnce(t.Context(), s, WatchRequest[*corev1.Pod]{SendInitialEvents: true}, 1)
	if n := events[0].Object.Spec.NodeName; n != "n1" {
		t.Errorf("somebody else's write shows: %s", n)
	}
	if name := s.String(); name != "static *v1.Pod" {
		t.Errorf("it is called %s", name)
	}
}

func TestACancelledContextEndsStaticAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := NewStatic(pod("ns", "a", ""))
	if err := s.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
	if err := s.Watch(ctx, WatchRequest[*corev1.Pod]{SendInitialEvents: true}, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
