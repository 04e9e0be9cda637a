package ownwrites_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
)

func TestGuarantee12EveryReadIncludesOwnWritesAndHandlersGetThemFromTheWatchAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"), testpods.New("b", "n1"), testpods.New("d", "n1"))
		defer b.end()
		var told []string
		reg, err := b.informer.AddHandler(kinglet.HandlerFunc[pod](func(_ context.Context, changes []kinglet.Change[pod]) {
			for _, c := range changes {
				told = append(told, c.Type.String()+" "+c.Key.Name)
			}
		}), kinglet.HandlerOptions{})
		b.must(err)
		defer reg.Remove()
		synctest.Wait()
		told = nil
		before := b.informer.Snapshot()
		began := time.Now()
		b.must(b.informer.Wrote(b.update(testpods.New("b", "n2"))))
		b.shows("a on n1", "b on n2", "d on n1")
		b.must(b.informer.Wrote(b.create(testpods.New("c", "n2"))))
		b.shows("a on n1", "b on n2", "c on n2", "d on n1")
		between := b.informer.Snapshot()
		b.must(b.informer.WroteDelete(key("a"), b.delete("a").UID))
		b.must(b.informer.Wrote(b.update(testpods.New("b", "n3"))))
		b.shows("b on n3", "c on n2", "d on n1")
		if n := between.Len(); n != 4 || before.Len() != 3 {
			t.Errorf("snapshots have changed: %d and %d objects", before.Len(), n)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("somebody waited for %v", took)
		}
		if synctest.Wait(); len(told) > 0 {
			t.Errorf("was told %q", told)
		}
		b.update(testpods.New("d", "n4")) // somebody else's
		b.catchUp()
		b.shows("b on n3", "c on n2", "d on n4")
		if len(told) < 4 {
			t.Errorf("was told %q", told)
		}
		if s := b.own(); s.Entries != 0 || s.Confirmed != 3 || s.Expired+s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
		if n, _ := between.IndexCount("node", "n2"); n != 2 || between.Len() != 4 {
			t.Errorf("a snapshot has changed: %d on n2, %d in all", n, between.Len())
		}
	})
}

func TestALateAnswerBringsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		defer b.end()
		late := b.update(testpods.New("a", "n2"))
		b.delete("a")
		b.catchUp()
		b.must(b.informer.Wrote(late)) // the watch was faster
		b.shows()
		created := b.create(testpods.New("a", "n3"))
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
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		defer b.end()
		gone := b.delete("a")
		b.must(b.informer.WroteDelete(key("a"), ""))
		b.shows()
		b.create(testpods.New("a", "n2")) // somebody else's
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
			p := testpods.New(name, node)
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

func TestAFieldSelectorIsEvaluatedWhereTheObjectHasTheField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{FieldSelector: "spec.nodeName=n1,metadata.name!=c"}, kinglet.Options[pod]{}, testpods.New("d", "n1"))
		defer b.end()
		b.must(b.informer.Wrote(b.create(testpods.New("a", "n1"))))
		b.must(b.informer.Wrote(b.create(testpods.New("b", "n2"))))
		b.must(b.informer.Wrote(b.create(testpods.New("c", "n1"))))
		b.must(b.informer.Wrote(b.update(testpods.New("d", "n2"))))
		b.shows("a on n1")
		b.must(b.informer.AwaitOwnWrites(t.Context(), kinglet.Key{}))
	})
}

func TestAReadWaitsForAWriteThatOnlyTheServerCanJudge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{FieldSelector: "spec.nodeName!=n2"}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		defer b.end()
		// An earlier object of the name, whose delete leaves nothing to wait for.
		b.must(b.informer.Wrote(b.create(testpods.New("b", "n1"))))
		b.must(b.informer.WroteDelete(key("b"), b.delete("b").UID))
		b.must(b.informer.AwaitOwnWrites(t.Context(), key("b")))
		unassigned := b.create(testpods.New("b", ""))
		if err := b.informer.Wrote(unassigned); !errors.Is(err, kinglet.ErrNotCovered) || !strings.Contains(err.Error(), "ns/b") {
			t.Error(err)
		}
		b.must(b.informer.AwaitOwnWrites(t.Context(), key("a")))
		began := time.Now()
		err := b.informer.AwaitOwnWrites(t.Context(), key("b"))
		var not *kinglet.WriteNotSeenError
		if !errors.As(err, &not) || not.Key != key("b") || not.ResourceVersion != unassigned.ResourceVersion || !errors.Is(err, kinglet.ErrNotShown) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		go func() {
			testbubble.Pass(3 * time.Second)
			b.server.Release()
		}()
		began = time.Now()
		if err := b.informer.AwaitOwnWrites(t.Context(), kinglet.Key{Namespace: testpods.Namespace}); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		b.shows("a on n1", "b on ")
	})
}

// A delete of an object that the watch has not shown, while another one is held: nobody
// knows which of the two is older.
func TestAReadWaitsForTheDeleteOfAnObjectThatWasNeverSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		defer b.end()
		b.delete("a") // somebody else, who also creates another one
		b.create(testpods.New("a", "n2"))
		b.must(b.informer.WroteDelete(key("a"), b.delete("a").UID))
		go func() {
			testbubble.Pass(3 * time.Second)
			b.server.Release()
		}()
		began := time.Now()
		if err := b.informer.AwaitOwnWrites(t.Context(), key("a")); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		b.shows()
	})
}

func TestAWriteThatIsNotConfirmedEndsAfterTwoMinutesAndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"), testpods.New("b", "n1"))
		defer b.end()
		b.must(b.informer.Wrote(b.update(testpods.New("a", "n2"))))
		testbubble.Pass(time.Minute)
		b.delete("b")
		b.must(b.informer.WroteDelete(key("b"), ""))
		b.shows("a on n2")
		if s := b.own(); s.Entries != 2 || time.Since(s.Oldest) != time.Minute {
			t.Errorf("%+v", s)
		}
		testbubble.Pass(time.Minute)
		synctest.Wait()
		b.shows("a on n1")
		testbubble.Pass(time.Minute)
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

func TestAWriteThatChangesNothingIsAsNewAsItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		defer b.end()
		answer := b.update(testpods.New("a", "n2"))
		b.must(b.informer.Wrote(answer))
		testbubble.Pass(90 * time.Second)
		b.must(b.informer.Wrote(answer))
		testbubble.Pass(time.Minute)
		synctest.Wait()
		b.shows("a on n2")
		testbubble.Pass(time.Minute)
		synctest.Wait()
		b.shows("a on n1")
		if s := b.own(); s.Entries != 0 || s.Expired != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestReadsKeepOwnWritesAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		updated := b.update(testpods.New("a", "n2"))
		b.must(b.informer.Wrote(updated))
		b.end()
		testbubble.Pass(5 * time.Minute)
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
			p := testpods.New(name, "n1")
			p.ResourceVersion, p.UID = version, "u"
			return p
		}
		b := newBehind(t, source.Options{Namespace: "ns"}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
		elsewhere := versioned("c", "1000")
		elsewhere.Namespace = "other"
		otherKind := versioned("k", "1000")
		otherKind.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		for _, tc := range []struct {
			what string
			err  error
			want []string
		}{
			{"without a version", b.informer.Wrote(testpods.New("v", "n1")), []string{"pods", "ns/v", kinglet.ErrNoVersion.Error()}},
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
}

func TestAnswersAreDroppedLikeTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{Drop: []string{source.DropManagedFields}}, kinglet.Options[pod]{})
		defer b.end()
		p := testpods.New("a", "n1")
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
}

func TestAWriteThatRemovesTheLastFinalizerIsADelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testpods.New("a", "n1")
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

func TestChangesOfOwnWritesAreMarkedForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"), testpods.New("b", "n1"), testpods.New("c", "n1"))
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
		b.must(b.informer.Wrote(b.update(testpods.New("a", "n2"))))
		b.must(b.informer.Wrote(b.update(testpods.New("a", "n3"))))
		b.must(b.informer.Wrote(b.update(testpods.New("b", "n2"))))
		b.update(testpods.New("b", "n3")) // somebody else's, and folded
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
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
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
