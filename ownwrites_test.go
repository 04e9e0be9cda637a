package kinglet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

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

func TestOwnWritesAreRefusedUnlessTheInformerRuns(t *testing.T) {
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

func TestAnswersAreTransformedLikeTheWatch(t *testing.T) {
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
		end := start(t, inf)
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
		end()
	})
}

func TestOwnWritesRefusesInvalidResourcesAndNilInformers(t *testing.T) {
	own := &kinglet.OwnWrites{}
	if err := own.Add(schema.GroupVersionResource{Resource: "pods"}); err == nil || !strings.Contains(err.Error(), "pods") {
		t.Error(err)
	}
	if err := own.Add(corev1.SchemeGroupVersion.WithResource("pods"), nil); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Error(err)
	}
}

// readsNoAnswers is a source without the methods that are not Source's.
type readsNoAnswers struct {
	source.Source[*unstructured.Unstructured]
}

// An unstructured object with an int panics when it is copied.
func TestAnOwnWriteThatCannotBeCopiedIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf, err := kinglet.New[*unstructured.Unstructured](readsNoAnswers{sourcetest.NewStatic[*unstructured.Unstructured]()}, kinglet.Options[*unstructured.Unstructured]{})
		if err != nil {
			t.Fatal(err)
		}
		end := start(t, inf)
		for value, copies := range map[any]bool{int64(1): true, 1: false} {
			obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a", "resourceVersion": "5"}, "spec": value}}
			if err := inf.Wrote(obj); errors.As(err, new(*source.PanicError)) == copies {
				t.Errorf("%T: %v", value, err)
			}
		}
		end()
	})
}
