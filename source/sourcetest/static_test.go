package sourcetest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/internal/testread"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

func key(name string) store.Key { return store.Key{Namespace: testpods.Namespace, Name: name} }

func TestAMirrorOfAStaticSourceFollowsIt(t *testing.T) {
	seed := int64(testseed.Of(t))
	r := rand.New(rand.NewSource(seed))
	synctest.Test(t, func(t *testing.T) {
		s := sourcetest.NewStatic[*corev1.Pod]()
		write := func() {
			p := testpods.New(fmt.Sprint("p", r.Intn(20)), strconv.Itoa(r.Int()))
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
				if err = s.Delete(key(p.Name)); exists == apierrors.IsNotFound(err) {
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
		m := testread.ListMirror(t, s, 1+r.Int63n(30))
		for range 20 {
			for range r.Intn(10) {
				write()
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- s.Watch(ctx, source.WatchRequest[*corev1.Pod]{ResourceVersion: strconv.FormatInt(m.Version, 10)}, func(events []source.Event[*corev1.Pod]) error {
					for _, e := range events {
						m.Event(t, e)
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
			m.Equals(t, s.Objects())
			want := context.Canceled
			switch r.Intn(3) {
			case 0:
				want = nil
				s.Disconnect(nil)
			case 1:
				want = testread.ErrEnough
				s.Disconnect(testread.ErrEnough)
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
	other := testpods.New("c", "n1")
	other.Namespace = "other"
	s := sourcetest.NewStatic(testpods.New("b", "n1"), testpods.New("a", "n1"), other)
	first, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{Limit: 2})
	if err != nil || len(first.Items) != 2 || first.Pages[0].Remaining != 1 || first.Items[0].Key != key("a") {
		t.Fatalf("%+v: %v", first, err)
	}
	if err := s.Delete(store.Key{Namespace: "other", Name: "c"}); err != nil {
		t.Fatal(err)
	}
	second, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{Continue: first.Pages[0].Continue, Limit: 2})
	if err != nil || len(second.Items) != 1 || second.Version != first.Version || second.Items[0].Key.Name != "c" {
		t.Errorf("the second page is of another state: %+v: %v", second, err)
	}
	if _, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{ResourceVersion: "1000", NotOlderThan: true}); !apierrors.IsTimeout(err) {
		t.Errorf("a version to come: %v", err)
	}
	for _, token := range []string{"x", "1:x", "x:1", "1:-1"} {
		if _, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{Continue: token}); !apierrors.IsBadRequest(err) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	if _, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{ResourceVersion: "x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("%v", err)
	}
	s.Expire()
	if _, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{Continue: first.Pages[0].Continue}); !apierrors.IsResourceExpired(err) {
		t.Errorf("an old token: %v", err)
	}
	gone, err := testread.Watch(t, s, source.WatchRequest[*corev1.Pod]{ResourceVersion: first.Version})
	if err != nil || len(gone) != 1 || gone[0].Type != source.Error || !apierrors.IsResourceExpired(gone[0].Err) {
		t.Errorf("an old version: %+v: %v", gone, err)
	}
}

func TestStaticFaultsAreWhatTheTestSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sourcetest.NewStatic(testpods.New("a", "n1"), testpods.New("", "n1"))
		s.FailLists(2, testread.ErrEnough)
		s.FailWatches(-1, testread.ErrEnough)
		for i, want := range []error{testread.ErrEnough, testread.ErrEnough, nil} {
			if _, err := testread.List(t, s, source.ListRequest[*corev1.Pod]{}); err != want {
				t.Errorf("list %d: %v", i, err)
			}
			if _, err := testread.Watch(t, s, source.WatchRequest[*corev1.Pod]{Timeout: 1}); err != testread.ErrEnough {
				t.Errorf("watch %d: %v", i, err)
			}
		}
		s.FailWatches(0, nil)
		refused := apierrors.NewBadRequest("no watch-list")
		s.RefuseWatchList(refused)
		if _, err := testread.Watch(t, s, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}); !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
		s.RefuseWatchList(nil)
		s.WithholdBookmarks(true)
		start := time.Now()
		got, err := testread.Watch(t, s, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true, Timeout: time.Minute})
		if err != nil || time.Since(start) != time.Minute || len(got) != 2 {
			t.Errorf("%d events after %v: %v", len(got), time.Since(start), err)
		}
		// The nameless one comes first, as one that has no key.
		if ie, ok := errtype.As[*source.ItemError](got[0].Err); !ok || ie.Stage != source.StageKey {
			t.Errorf("%+v", got[0])
		}
		s.WithholdBookmarks(false)

		var seen []source.Event[*corev1.Pod]
		done := make(chan error, 1)
		go func() {
			var err error
			seen, err = testread.Watch(t, s, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true})
			done <- err
		}()
		synctest.Wait()
		odd := source.Event[*corev1.Pod]{Type: source.Unknown}
		odd.Err = testread.ErrEnough
		broken := source.Event[*corev1.Pod]{Type: source.Modified, Item: source.Item[*corev1.Pod]{
			Key: key("a"), ResourceVersion: "9",
			Err: &source.ItemError{Stage: source.StageDecode, Key: key("a"), ResourceVersion: "9", Err: testread.ErrEnough},
		}}
		s.Send(odd, broken)
		s.Bookmark()
		s.Disconnect(testread.ErrEnough)
		if err := <-done; err != testread.ErrEnough || len(seen) != 6 {
			t.Fatalf("%d events: %v", len(seen), err)
		}
		if e := seen[2]; !e.InitialEventsEnd {
			t.Errorf("%+v", e)
		}
		if e := seen[3]; e.Type != source.Unknown || e.Err != testread.ErrEnough {
			t.Errorf("%+v", e)
		}
		if e := seen[4]; e.Type != source.Modified || e.Err == nil || e.Key != key("a") {
			t.Errorf("%+v", e)
		}
		if e := seen[5]; e.Type != source.Bookmark || e.InitialEventsEnd || e.ResourceVersion != s.ResourceVersion() {
			t.Errorf("%+v", e)
		}
	})
}

func TestStaticHandsOutCopies(t *testing.T) {
	given := testpods.New("a", "n1")
	s := sourcetest.NewStatic(given)
	given.Spec.NodeName = "spoiled"
	got, _ := testread.List(t, s, source.ListRequest[*corev1.Pod]{})
	got.Items[0].Object.Spec.NodeName = "spoiled"
	s.Objects()[0].Spec.NodeName = "spoiled"
	events, _ := testread.WatchSome(t.Context(), s, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}, 1)
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
	s := sourcetest.NewStatic(testpods.New("a", "n1"))
	if err := s.List(ctx, source.ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
	if err := s.Watch(ctx, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func TestStaticSaysThatItReadsMemoryAlsoThroughWhatIsMadeOfIt(t *testing.T) {
	s := sourcetest.NewStatic(testpods.New("a", "n1"))
	for _, src := range []source.Source[*corev1.Pod]{
		s, source.WithKeyFunc(s, source.ObjectKey[*corev1.Pod]),
		source.Map(s, func(p *corev1.Pod) (*corev1.Pod, error) { return p, nil }),
	} {
		var paths []source.ReadPath
		onPath := func(p source.ReadPath) { paths = append(paths, p) }
		if _, err := testread.List(t, src, source.ListRequest[*corev1.Pod]{OnPath: onPath}); err != nil {
			t.Error(err)
		}
		req := source.WatchRequest[*corev1.Pod]{SendInitialEvents: true, OnPath: onPath}
		if _, err := testread.WatchSome(t.Context(), src, req, 1); err != testread.ErrEnough {
			t.Error(err)
		}
		if want := []source.ReadPath{{Path: source.PathMemory}, {Path: source.PathMemory}}; !slices.Equal(paths, want) {
			t.Errorf("%T: %v", src, paths)
		}
	}
}

func TestStaticReadsTheObjectsInAnswersToWritesAndNoBytes(t *testing.T) {
	s := sourcetest.NewStatic[*corev1.Pod]()
	answer := testpods.New("a", "n1")
	answer.UID, answer.ResourceVersion = "u", "5"
	w, err := source.ReadAnswer(s, source.Answer{Object: answer})
	if err != nil || w.Key != key("a") || w.UID != "u" || w.ResourceVersion != "5" || w.Coverage != source.Covered || w.Gone {
		t.Errorf("%+v: %v", w, err)
	}
	if w.Object == answer || !reflect.DeepEqual(w.Object, answer) {
		t.Errorf("no copy: %v", w.Object)
	}
	if _, err := source.ReadAnswer(s, source.Answer{Body: []byte(`{}`)}); err != source.ErrNoAnswers {
		t.Errorf("a body: %v", err)
	}
	var kind *source.KindError
	if _, err := source.ReadAnswer(s, source.Answer{Object: &corev1.Node{}}); !errors.As(err, &kind) {
		t.Errorf("another type: %v", err)
	}
	if _, err := source.ReadAnswer(s, source.Answer{Object: (*corev1.Pod)(nil)}); err == nil {
		t.Error("a nil pod was read")
	}
	var item *source.ItemError
	if _, err := source.ReadAnswer(s, source.Answer{Object: testpods.New("", "n1")}); !errors.As(err, &item) || item.Stage != source.StageKey {
		t.Errorf("without a name: %v", err)
	}
}
