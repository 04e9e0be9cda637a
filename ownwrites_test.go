package kinglet_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// behind is an informer of pods on a server in memory whose watch stands still.
type behind struct {
	t        *testing.T
	storage  *apiserver.Storage
	server   *apiserver.Server
	informer *kinglet.Informer[pod]

	mu    sync.Mutex
	errs  []error // guarded by mu
	stop  context.CancelFunc
	ended chan error
}

// newBehind makes one of the given pods, and runs it.
func newBehind(t *testing.T, src source.Options, opts kinglet.Options[pod], pods ...pod) *behind {
	t.Helper()
	b := &behind{t: t, storage: apiserver.NewStorage(apiserver.Pods), ended: make(chan error, 1)}
	b.server = apiserver.New(b.storage, apiserver.Options{})
	s, err := source.FromConfig[pod](b.server.Config(), corev1.SchemeGroupVersion.WithResource("pods"), src)
	if err != nil {
		t.Fatal(err)
	}
	b.use(s, opts)
	for _, p := range pods {
		b.create(p)
	}
	b.run()
	return b
}

func (b *behind) use(src source.Source[pod], opts kinglet.Options[pod]) {
	b.t.Helper()
	opts.OnError = func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errs = append(b.errs, err)
	}
	if opts.Indexers == nil {
		opts.Indexers = map[string]kinglet.IndexFunc[pod]{"node": byNode}
	}
	var err error
	if b.informer, err = kinglet.New(src, opts); err != nil {
		b.t.Fatal(err)
	}
}

// run runs the informer, and has the watch stand still once all is quiet.
func (b *behind) run() {
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	go func() { b.ended <- b.informer.Run(ctx) }()
	synctest.Wait()
	b.server.Hold()
}

func (b *behind) end() {
	b.stop()
	if err := <-b.ended; err != nil {
		b.t.Error(err)
	}
	b.server.Close()
}

// catchUp lets the watch go on.
func (b *behind) catchUp() {
	b.server.Release()
	synctest.Wait()
	b.server.Hold()
}

func (b *behind) answer(obj runtime.Object, err error) pod {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	return obj.(pod)
}

func (b *behind) create(p pod) pod {
	b.t.Helper()
	return b.answer(b.storage.Create(p))
}

func (b *behind) update(p pod) pod {
	b.t.Helper()
	return b.answer(b.storage.Update(p))
}

func (b *behind) delete(name string) pod {
	b.t.Helper()
	return b.answer(b.storage.Delete(apiserver.Pods.GroupResource(), types.NamespacedName{Namespace: "ns", Name: name}, nil))
}

func (b *behind) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// shows fails unless reads show pods on nodes, as "name on node", by all ways.
func (b *behind) shows(want ...string) {
	b.t.Helper()
	for _, r := range []kinglet.Reader[pod]{b.informer.Store(), b.informer.Snapshot()} {
		var got, indexed []string
		for p := range r.All() {
			got = append(got, p.Name+" on "+p.Spec.NodeName)
			if held, ok := r.Get(key(p.Name)); !ok || held != p {
				b.t.Errorf("Get of %s: %v, and All has %v", p.Name, held, p)
			}
		}
		if !slices.Equal(got, want) || r.Len() != len(want) {
			b.t.Errorf("reads show %v (%d), want %v", got, r.Len(), want)
		}
		values, err := r.IndexValues("node")
		if err != nil {
			b.t.Fatal(err)
		}
		for node := range values {
			objs, _ := r.ByIndex("node", node)
			n := 0
			for p := range objs {
				n++
				indexed = append(indexed, p.Name+" on "+node)
			}
			if count, _ := r.IndexCount("node", node); count != n {
				b.t.Errorf("%d objects on %s, and a count of %d", n, node, count)
			}
		}
		if slices.Sort(indexed); !slices.Equal(indexed, want) {
			b.t.Errorf("the index shows %v, want %v", indexed, want)
		}
	}
}

func (b *behind) reported() []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.errs)
}

func (b *behind) own() kinglet.OwnWritesStatus { return b.informer.Status().OwnWrites }

func TestALateAnswerBringsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, newPod("a", "n1"))
		defer b.end()
		late := b.update(newPod("a", "n2"))
		b.delete("a")
		b.catchUp()
		b.must(b.informer.Wrote(late)) // the watch was faster
		b.shows()
		created := b.create(newPod("a", "n3"))
		gone := b.delete("a")
		b.must(b.informer.WroteDelete(key("a"), gone.UID)) // told first
		b.must(b.informer.Wrote(created))
		b.shows()
		b.catchUp()
		b.must(b.informer.WroteDelete(key("a"), gone.UID)) // told again
		b.shows()
		if s := b.own(); s.Entries != 0 || s.Late == 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAnotherObjectUnderTheKeyOfOneThatWasDeletedIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, newPod("a", "n1"))
		defer b.end()
		gone := b.delete("a")
		b.must(b.informer.WroteDelete(key("a"), ""))
		b.shows()
		b.create(newPod("a", "n2")) // somebody else's
		b.shows()
		b.catchUp()
		b.shows("a on n2")
		b.must(b.informer.WroteDelete(key("a"), gone.UID))
		b.shows("a on n2")
	})
}

func TestAnObjectThatLeavesTheSelectorLeavesReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(name, node, value string) pod {
			p := newPod(name, node)
			p.Labels = map[string]string{"in": value}
			return p
		}
		b := newBehind(t, source.Options{LabelSelector: "in=yes"}, kinglet.Options[pod]{}, in("a", "n1", "yes"))
		defer b.end()
		b.must(b.informer.Wrote(b.create(in("b", "n1", "no"))))
		b.must(b.informer.Wrote(b.update(in("a", "n2", "no"))))
		b.shows()
		b.must(b.informer.Wrote(b.update(in("b", "n2", "yes"))))
		b.shows("b on n2")
		b.catchUp()
		b.shows("b on n2")
		if s := b.own(); s.Entries != 0 || s.Confirmed != 2 {
			t.Errorf("%+v", s)
		}
	})
}

func TestWritesOfUnknownCoverageAreRecordedForKnownKeysOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{FieldSelector: "spec.nodeName=n1"}, kinglet.Options[pod]{}, newPod("a", "n1"))
		defer b.end()
		if err := b.informer.Wrote(b.create(newPod("b", "n1"))); !errors.Is(err, kinglet.ErrNotCovered) || !strings.Contains(err.Error(), "ns/b") {
			t.Error(err)
		}
		changed := newPod("a", "n1")
		changed.Labels = map[string]string{"changed": "yes"}
		b.must(b.informer.Wrote(b.update(changed)))
		if p, _ := b.informer.Store().Get(key("a")); p.Labels["changed"] != "yes" {
			t.Errorf("%v", p)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{FieldSelector: "spec.nodeName=n1,metadata.name!=c"}, kinglet.Options[pod]{
			Covers: func(p pod) bool { return p.Spec.NodeName == "n1" },
		})
		defer b.end()
		b.must(b.informer.Wrote(b.create(newPod("a", "n1"))))
		b.must(b.informer.Wrote(b.create(newPod("b", "n2"))))
		b.must(b.informer.Wrote(b.create(newPod("c", "n1"))))
		b.shows("a on n1")
	})
}

func TestAWriteThatIsNotConfirmedEndsAfterTwoMinutesAndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"))
		defer b.end()
		b.must(b.informer.Wrote(b.update(newPod("a", "n2"))))
		testclock.Pass(time.Minute)
		b.delete("b")
		b.must(b.informer.WroteDelete(key("b"), ""))
		b.shows("a on n2")
		if s := b.own(); s.Entries != 2 || time.Since(s.Oldest) != time.Minute {
			t.Errorf("%+v", s)
		}
		testclock.Pass(time.Minute)
		synctest.Wait()
		b.shows("a on n1")
		testclock.Pass(time.Minute)
		synctest.Wait()
		b.shows("a on n1", "b on n1")
		var keys []string
		for _, err := range b.reported() {
			if u, ok := errors.AsType[*kinglet.UnconfirmedWriteError](err); ok && errors.Is(err, kinglet.ErrNotConfirmed) {
				keys = append(keys, u.Key.Name+"@"+u.ResourceVersion)
			}
		}
		if len(keys) != 2 || !strings.HasPrefix(keys[0], "a@1") || keys[1] != "b@" {
			t.Errorf("reported: %v", keys)
		}
		if s := b.own(); s.Entries != 0 || s.Expired != 2 {
			t.Errorf("%+v", s)
		}
	})
}

func TestReadsKeepOwnWritesAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, newPod("a", "n1"))
		updated := b.update(newPod("a", "n2"))
		b.must(b.informer.Wrote(updated))
		b.end()
		testclock.Pass(5 * time.Minute)
		b.shows("a on n2")
		if err := b.informer.Wrote(updated); !errors.Is(err, kinglet.ErrStopped) {
			t.Error(err)
		}
		if err := b.informer.WaitVersion(t.Context(), "1000000"); !errors.Is(err, kinglet.ErrStopped) {
			t.Error(err)
		}
	})
}

func TestObjectsThatAreNoAnswersOfTheCollectionAreRefusedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		versioned := func(name, version string) pod {
			p := newPod(name, "n1")
			p.ResourceVersion, p.UID = version, "u"
			return p
		}
		b := newBehind(t, source.Options{Namespace: "ns"}, kinglet.Options[pod]{}, newPod("a", "n1"))
		elsewhere := versioned("c", "1000")
		elsewhere.Namespace = "other"
		otherKind := versioned("k", "1000")
		otherKind.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		for _, tc := range []struct {
			what string
			err  error
			want []string
		}{
			{"without a version", b.informer.Wrote(newPod("v", "n1")), []string{"pods", "ns/v", kinglet.ErrNoVersion.Error()}},
			{"without a name", b.informer.Wrote(versioned("", "1000")), []string{"pods", "no name"}},
			{"nil", b.informer.Wrote(nil), []string{"pods", "nil"}},
			{"of another namespace", b.informer.Wrote(elsewhere), []string{"other/c", `"ns"`, kinglet.ErrNotCovered.Error()}},
			{"of another kind", b.informer.Wrote(otherKind), []string{"ns/k", "Node", "Pod"}},
			{"of another type", kinglet.WroteDecoded(b.informer, &corev1.Node{}), []string{"*v1.Node", "*v1.Pod"}},
			{"a delete of what nobody knows", b.informer.WroteDelete(key("z"), ""), []string{"ns/z", kinglet.ErrUnknownKey.Error()}},
			{"a delete without a name", b.informer.WroteDelete(kinglet.Key{Namespace: "ns"}, "u"), []string{"pods", "no name"}},
		} {
			if tc.err == nil {
				t.Errorf("%s: no error", tc.what)
				continue
			}
			for _, want := range tc.want {
				if !strings.Contains(tc.err.Error(), want) {
					t.Errorf("%s: %q is missing in %v", tc.what, want, tc.err)
				}
			}
		}
		b.shows("a on n1")
		if s := b.own(); s.Entries != 0 {
			t.Errorf("%+v", s)
		}
		b.end()
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{})
		p := withUID(newPod("a", "n1"), "u")
		p.ResourceVersion = "5"
		if err := r.informer.Wrote(p); !errors.Is(err, kinglet.ErrNotRunning) || !strings.Contains(err.Error(), "ns/a") {
			t.Error(err)
		}
		if err := r.informer.WroteDelete(key("a"), "u"); !errors.Is(err, kinglet.ErrNotRunning) {
			t.Error(err)
		}
		if n := r.informer.Store().Len(); n != 0 {
			t.Errorf("%d objects", n)
		}
	})
}

func TestAnswersAreDroppedAndTransformedLikeTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{Drop: []string{source.DropManagedFields}}, kinglet.Options[pod]{})
		defer b.end()
		p := newPod("a", "n1")
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "test"}}
		answer := b.create(p)
		b.must(b.informer.Wrote(answer))
		own, _ := b.informer.Store().Get(key("a"))
		b.catchUp()
		held, _ := b.informer.Store().Get(key("a"))
		if own.ManagedFields != nil || own == held || own.String() != held.String() || answer.ManagedFields == nil {
			t.Errorf("own %v\nheld %v", own, held)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		type node struct{ name, on string }
		src := sourcetest.NewStatic(newPod("a", "n1"))
		inf, err := kinglet.New(source.Map[pod](src, func(p pod) (node, error) {
			if p.Spec.NodeName == "" {
				return node{}, errors.New("not scheduled")
			}
			p.Spec.NodeName += "!"
			return node{p.Name, p.Spec.NodeName}, nil
		}), kinglet.Options[node]{KeyFunc: func(n node) (kinglet.Key, error) { return key(n.name), nil }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		p := withUID(newPod("b", "n2"), "u")
		p.ResourceVersion = "1000"
		if err := kinglet.WroteDecoded(inf, p); err != nil {
			t.Error(err)
		}
		if got, ok := inf.Store().Get(key("b")); !ok || got.on != "n2!" || p.Spec.NodeName != "n2" {
			t.Errorf("%v, %v; %v", got, ok, p.Spec.NodeName)
		}
		p.Spec.NodeName, p.ResourceVersion = "", "1001"
		var item *kinglet.ItemError
		if err := kinglet.WroteDecoded(inf, p); !errors.As(err, &item) || item.Stage != source.StageTransform {
			t.Error(err)
		}
		if err := inf.Wrote(node{"c", "n1"}); err == nil || !strings.Contains(err.Error(), "v1.Pod") {
			t.Error(err)
		}
		stop()
		<-ended
	})
}

func TestAWriteThatRemovesTheLastFinalizerIsADelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPod("a", "n1")
		p.Finalizers = []string{"example.com/f"}
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, p)
		defer b.end()
		marked := b.delete("a")
		b.must(b.informer.Wrote(marked))
		if got, ok := b.informer.Store().Get(key("a")); !ok || got.DeletionTimestamp == nil {
			t.Errorf("%v", got)
		}
		marked = marked.DeepCopy()
		marked.Finalizers = nil
		b.must(b.informer.Wrote(b.update(marked)))
		b.shows()
		b.catchUp()
		b.shows()
		if s := b.own(); s.Entries != 0 || s.Expired != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestAnUndecodableVersionDoesNotTakeReadsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}}, withUID(newPod("a", "n1"), "u"))
		r.run()
		defer r.end()
		p := withUID(newPod("a", "n2"), "u")
		p.ResourceVersion = "1000"
		r.must(r.informer.Wrote(p))
		item := source.Item[pod]{Key: key("a"), UID: "u", ResourceVersion: "1000", Err: &kinglet.ItemError{Stage: source.StageDecode, Key: key("a"), Err: errors.New("broken")}}
		r.src.Send(source.Event[pod]{Type: source.Modified, Item: item})
		synctest.Wait()
		if got, _ := r.informer.Store().Get(key("a")); got.Spec.NodeName != "n2" {
			t.Errorf("reads are back at %s", got.Spec.NodeName)
		}
		next := withUID(newPod("a", "n3"), "u")
		next.ResourceVersion = "1001"
		r.src.Send(source.Event[pod]{Type: source.Modified, Item: source.Item[pod]{Key: key("a"), UID: "u", ResourceVersion: "1001", Object: next}})
		synctest.Wait()
		if got, _ := r.informer.Store().Get(key("a")); got.Spec.NodeName != "n3" || r.informer.Status().OwnWrites.Entries != 0 {
			t.Errorf("reads are at %s: %+v", got.Spec.NodeName, r.informer.Status().OwnWrites)
		}
	})
}

func TestVersionsWithoutAnOrderEndWithTheNextChangeOfTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, withUID(newPod("a", "n1"), "u"), newPod("b", "n1"))
		r.run()
		defer r.end()
		p := withUID(newPod("a", "n2"), "u")
		p.ResourceVersion = "two"
		r.must(r.informer.Wrote(p))
		r.must(r.src.Update(newPod("b", "n2"))) // of another key
		synctest.Wait()
		if got, _ := r.informer.Store().Get(key("a")); got.Spec.NodeName != "n2" {
			t.Errorf("reads are at %s", got.Spec.NodeName)
		}
		r.must(r.src.Update(newPod("a", "n3")))
		synctest.Wait()
		if got, _ := r.informer.Store().Get(key("a")); got.Spec.NodeName != "n3" || r.informer.Status().OwnWrites.Entries != 0 {
			t.Errorf("reads are at %s: %+v", got.Spec.NodeName, r.informer.Status().OwnWrites)
		}
		if err := r.informer.WaitVersion(t.Context(), "two"); !errors.Is(err, kinglet.ErrNotComparable) {
			t.Error(err)
		}
	})
}

func TestWaitVersionEndsByEventBookmarkOrList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		waited := make(chan error, 1)
		wait := func(rv string) {
			go func() { waited <- r.informer.WaitVersion(context.Background(), rv) }()
			synctest.Wait()
		}
		came := func(what string) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-waited:
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			default:
				t.Errorf("%s ended no wait", what)
			}
		}
		wait("2") // before Run
		r.run()
		defer r.end()
		came("the list")
		wait("3")
		r.must(r.src.Update(newPod("a", "n2")))
		came("an event")
		wait("4")
		r.src.Send(source.Event[pod]{Type: source.Bookmark, Item: source.Item[pod]{ResourceVersion: "10"}})
		came("a bookmark")
		wait("10")
		came("the version there is")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := r.informer.WaitVersion(ctx, "11")
		var not *kinglet.VersionNotReachedError
		if !errors.As(err, &not) || not.Want != "11" || not.At != "10" || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "v1.Pod") {
			t.Error(err)
		}
	})
}

func TestChangesOfOwnWritesAreMarkedForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"), newPod("c", "n1"))
		defer b.end()
		var lines []string
		reg, err := b.informer.AddHandler(kinglet.HandlerFunc[pod](func(_ context.Context, changes []kinglet.Change[pod]) {
			for _, c := range changes {
				own := ""
				if c.OwnEcho {
					own = " own"
				}
				lines = append(lines, c.Type.String()+" "+c.Key.Name+own)
			}
		}), kinglet.HandlerOptions{})
		b.must(err)
		synctest.Wait()
		defer reg.Remove()
		lines = nil
		b.must(b.informer.Wrote(b.update(newPod("a", "n2"))))
		b.must(b.informer.Wrote(b.update(newPod("a", "n3"))))
		b.must(b.informer.Wrote(b.update(newPod("b", "n2"))))
		b.update(newPod("b", "n3")) // somebody else's, and folded
		gone := b.delete("c")
		b.must(b.informer.WroteDelete(key("c"), gone.UID))
		if synctest.Wait(); len(lines) > 0 {
			t.Errorf("handlers were told of own writes: %v", lines)
		}
		b.catchUp()
		if slices.Contains(lines, "Updated a") || !slices.Contains(lines, "Updated a own") || !slices.Contains(lines, "Updated b") || !slices.Contains(lines, "Deleted c own") {
			t.Errorf("%v", lines)
		}
	})
}

func TestOwnWritesRecordsWhatAClientWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, newPod("a", "n1"))
		defer b.end()
		own := &kinglet.OwnWrites{}
		b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
		for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			cfg := rest.CopyConfig(b.server.Config())
			cfg.ContentType = contentType
			cfg.Wrap(own.Wrap)
			tryClient(t, b, cfg)
		}
		own.Remove(b.informer)
		if s := b.own(); s.Late != 0 {
			t.Errorf("%+v: %v", s, b.reported())
		}
		if errs := b.reported(); len(errs) > 0 {
			t.Error(errs)
		}
	})
}
