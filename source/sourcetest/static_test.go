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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

type (
	pod          = *corev1.Pod
	listRequest  = source.ListRequest[pod]
	watchRequest = source.WatchRequest[pod]
)

var errEnough = errors.New("enough")

func key(name string) store.Key { return store.Key{Namespace: testpods.Namespace, Name: name} }

// list sends one request, and returns the page.
func list(t *testing.T, s source.Source[pod], req listRequest) (page source.Page[pod], err error) {
	t.Helper()
	err = s.List(t.Context(), req, func(p source.Page[pod]) error {
		page = p
		return nil
	})
	return page, err
}

// watch returns the events of one watch. It ends the watch after n of them, unless n is 0.
func watch(ctx context.Context, s source.Source[pod], req watchRequest, n int) (got []source.Event[pod], err error) {
	err = s.Watch(ctx, req, func(events []source.Event[pod]) error {
		if got = slices.Concat(got, events); n > 0 && len(got) >= n {
			return errEnough
		}
		return nil
	})
	return got, err
}

// mirror is a map that follows a source, and fails the test if the source contradicts
// itself.
type mirror struct {
	version int64
	pods    map[store.Key]pod
}

func mirrorOf(t *testing.T, s source.Source[pod], limit int64) *mirror {
	t.Helper()
	m := &mirror{pods: map[store.Key]pod{}}
	for req := (listRequest{Limit: limit}); ; {
		p, err := list(t, s, req)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := strconv.ParseInt(p.ResourceVersion, 10, 64)
		if m.version != 0 && m.version != v {
			t.Errorf("a page of version %d after one of %d", v, m.version)
		}
		m.version = v
		for _, it := range p.Items {
			if m.pods[it.Key] != nil {
				t.Errorf("%s came twice", it.Key)
			}
			m.pods[it.Key] = it.Object
		}
		if req.Continue = p.Continue; req.Continue == "" {
			return m
		}
	}
}

func (m *mirror) event(t *testing.T, e source.Event[pod]) {
	v, _ := strconv.ParseInt(e.ResourceVersion, 10, 64)
	if e.Type == source.Bookmark && v < m.version || e.Type != source.Bookmark && v <= m.version {
		t.Errorf("%s of version %d after %d", e.Type, v, m.version)
	}
	m.version = v
	held, ok := m.pods[e.Key]
	switch {
	case e.Type == source.Bookmark:
		return
	case ok != (e.Type != source.Added), ok && held.UID != e.UID:
		t.Errorf("%s %s, uid %s, held %v", e.Key, e.Type, e.UID, held)
	}
	m.pods[e.Key] = e.Object
	if e.Type == source.Deleted {
		delete(m.pods, e.Key)
	}
}

func TestAMirrorOfAStaticSourceFollowsIt(t *testing.T) {
	seed := int64(testkit.Seed(t))
	r := rand.New(rand.NewSource(seed))
	synctest.Test(t, func(t *testing.T) {
		s := sourcetest.NewStatic[pod]()
		write := func() {
			p := testpods.New(fmt.Sprint("p", r.Intn(20)), strconv.Itoa(r.Int()))
			exists := slices.ContainsFunc(s.Objects(), func(o pod) bool { return o.Name == p.Name })
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
		m := mirrorOf(t, s, 1+r.Int63n(30))
		for range 20 {
			for range r.Intn(10) {
				write()
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- s.Watch(ctx, watchRequest{ResourceVersion: strconv.FormatInt(m.version, 10)}, func(events []source.Event[pod]) error {
					for _, e := range events {
						m.event(t, e)
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
			want := map[store.Key]pod{}
			for _, p := range s.Objects() {
				want[key(p.Name)] = p
			}
			if !reflect.DeepEqual(want, m.pods) {
				t.Errorf("source and mirror (-source +mirror):\n%s", cmp.Diff(want, m.pods))
			}
			ends := []error{context.Canceled, nil, errEnough}[r.Intn(3)]
			if ends == context.Canceled {
				cancel()
			} else {
				s.Disconnect(ends)
			}
			if err := <-done; err != ends {
				t.Errorf("the watch ended with %v, want %v", err, ends)
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
	first, err := list(t, s, listRequest{Limit: 2})
	if err != nil || len(first.Items) != 2 || first.Remaining != 1 || first.Items[0].Key != key("a") {
		t.Fatalf("%+v: %v", first, err)
	}
	exact := listRequest{ResourceVersion: first.ResourceVersion, Exact: true, FieldSelector: "metadata.name=b,metadata.namespace=ns"}
	if one, err := list(t, s, exact); err != nil || len(one.Items) != 1 || one.Items[0].Key != key("b") {
		t.Errorf("one object: %+v: %v", one, err)
	}
	if err := s.Delete(store.Key{Namespace: "other", Name: "c"}); err != nil {
		t.Fatal(err)
	}
	second, err := list(t, s, listRequest{Continue: first.Continue, Limit: 2})
	if err != nil || len(second.Items) != 1 || second.ResourceVersion != first.ResourceVersion || second.Items[0].Key.Name != "c" {
		t.Errorf("the second page is of another state: %+v: %v", second, err)
	}
	refused := func(what string, req listRequest, is func(error) bool) {
		t.Helper()
		if _, err := list(t, s, req); !is(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("an exact version that is past", exact, apierrors.IsResourceExpired)
	refused("a version to come", listRequest{ResourceVersion: "1000", NotOlderThan: true}, apierrors.IsTimeout)
	for _, token := range []string{"x", "1:x", "x:1", "1:-1"} {
		refused(token, listRequest{Continue: token}, apierrors.IsBadRequest)
	}
	refused("no version", listRequest{ResourceVersion: "x"}, apierrors.IsBadRequest)
	refused("no selector", listRequest{FieldSelector: "a=b=c"}, apierrors.IsBadRequest)
	s.Expire()
	refused("an old token", listRequest{Continue: first.Continue}, apierrors.IsResourceExpired)
	gone, err := watch(t.Context(), s, watchRequest{ResourceVersion: first.ResourceVersion}, 0)
	if err != nil || len(gone) != 1 || gone[0].Type != source.Error || !apierrors.IsResourceExpired(gone[0].Err) {
		t.Errorf("an old version: %+v: %v", gone, err)
	}
}

func TestStaticFaultsAreWhatTheTestSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sourcetest.NewStatic(testpods.New("a", "n1"), testpods.New("", "n1"))
		s.FailLists(2, errEnough)
		s.FailWatches(-1, errEnough)
		for i, want := range []error{errEnough, errEnough, nil} {
			if _, err := list(t, s, listRequest{}); err != want {
				t.Errorf("list %d: %v", i, err)
			}
			if _, err := watch(t.Context(), s, watchRequest{Timeout: 1}, 0); err != errEnough {
				t.Errorf("watch %d: %v", i, err)
			}
		}
		s.FailWatches(0, nil)
		refused := apierrors.NewBadRequest("no watch-list")
		s.RefuseWatchList(refused)
		if _, err := watch(t.Context(), s, watchRequest{SendInitialEvents: true}, 0); !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
		s.RefuseWatchList(nil)
		start := time.Now()
		got, err := watch(t.Context(), s, watchRequest{SendInitialEvents: true, Timeout: time.Minute}, 0)
		if err != nil || time.Since(start) != time.Minute || len(got) != 3 {
			t.Errorf("%d events after %v: %v", len(got), time.Since(start), err)
		}
		// The nameless one comes first, as one that has no key.
		if ie, ok := errtype.As[*source.ItemError](got[0].Err); !ok || ie.Stage != source.StageKey {
			t.Errorf("%+v", got[0])
		}
		var seen []source.Event[pod]
		done := make(chan error, 1)
		go func() {
			var err error
			seen, err = watch(t.Context(), s, watchRequest{SendInitialEvents: true}, 0)
			done <- err
		}()
		synctest.Wait()
		odd := source.Event[pod]{Type: source.Unknown}
		odd.Err = errEnough
		broken := source.Event[pod]{Type: source.Modified, Item: source.Item[pod]{
			Key: key("a"), ResourceVersion: "9",
			Err: &source.ItemError{Stage: source.StageDecode, Key: key("a"), ResourceVersion: "9", Err: errEnough},
		}}
		s.Send(odd, broken)
		s.Bookmark()
		s.Disconnect(errEnough)
		if err := <-done; err != errEnough || len(seen) != 6 {
			t.Fatalf("%d events: %v", len(seen), err)
		}
		bookmark := source.Event[pod]{Type: source.Bookmark, Item: source.Item[pod]{ResourceVersion: s.ResourceVersion()}}
		end := bookmark
		end.InitialEventsEnd = true
		if want := []source.Event[pod]{end, odd, broken, bookmark}; !reflect.DeepEqual(seen[2:], want) {
			t.Errorf("%+v, want %+v", seen[2:], want)
		}
	})
}

func TestStaticHandsOutCopies(t *testing.T) {
	given := testpods.New("a", "n1")
	s := sourcetest.NewStatic(given)
	given.Spec.NodeName = "spoiled"
	got, _ := list(t, s, listRequest{})
	got.Items[0].Object.Spec.NodeName = "spoiled"
	s.Objects()[0].Spec.NodeName = "spoiled"
	events, _ := watch(t.Context(), s, watchRequest{SendInitialEvents: true}, 1)
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
	if err := s.List(ctx, listRequest{}, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
	if _, err := watch(ctx, s, watchRequest{SendInitialEvents: true}, 0); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

func TestStaticSaysThatItReadsMemoryAlsoThroughAMap(t *testing.T) {
	s := sourcetest.NewStatic(testpods.New("a", "n1"))
	for _, src := range []source.Source[pod]{s, source.Map(s, func(p pod) (pod, error) { return p, nil })} {
		var paths []source.ReadPath
		onPath := func(p source.ReadPath) { paths = append(paths, p) }
		if _, err := list(t, src, listRequest{OnPath: onPath}); err != nil {
			t.Error(err)
		}
		if _, err := watch(t.Context(), src, watchRequest{SendInitialEvents: true, OnPath: onPath}, 1); err != errEnough {
			t.Error(err)
		}
		if want := []source.ReadPath{{Path: source.PathMemory}, {Path: source.PathMemory}}; !slices.Equal(paths, want) {
			t.Errorf("%T: %v", src, paths)
		}
	}
}

func TestStaticReadsTheObjectsInAnswersToWritesAndNoBytes(t *testing.T) {
	s := sourcetest.NewStatic[pod]()
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
	if _, err := source.ReadAnswer(s, source.Answer{Object: pod(nil)}); err == nil {
		t.Error("a nil pod was read")
	}
	var item *source.ItemError
	if _, err := source.ReadAnswer(s, source.Answer{Object: testpods.New("", "n1")}); !errors.As(err, &item) || item.Stage != source.StageKey {
		t.Errorf("without a name: %v", err)
	}
}
