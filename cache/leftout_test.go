package cache

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/source"
)

// What a scope leaves out is left out however its objects are read, and its transform gets
// the rest.
func TestWhatIsLeftOutIsSoHoweverObjectsAreRead(t *testing.T) {
	client := podServer(t, runtime.ContentTypeProtobuf)
	made := NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", notGone)
	for name, c := range map[string]struct {
		lw       ListerWatcher
		disabled string
	}{
		"read from the wire":    {lw: made},
		"decoded by the client": {lw: generated(client)},
		"without the fast path": {lw: made, disabled: "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(disableFastPath, c.disabled)
			for _, of := range []struct {
				scope       ScopedListerWatcher
				node, whole bool
			}{
				{scope: ScopedListerWatcher{Drop: []string{"spec.nodeName"}}},
				{scope: ScopedListerWatcher{Keep: []string{"spec.nodeName"}}, node: true},
				{scope: ScopedListerWatcher{Keep: []string{"spec"}, Drop: []string{"spec.nodeName"}}},
				{scope: ScopedListerWatcher{Keep: []string{"status.phase"}, WholeLabels: labels.Everything()}, node: true, whole: true},
			} {
				of.scope.ListerWatcher = c.lw
				var calls atomic.Int64
				of.scope.Transform = func(obj any) (any, error) {
					calls.Add(1)
					return obj, nil
				}
				for _, p := range podsOnceSynced(t, of.scope) {
					if (p.Spec.NodeName != "") != of.node || source.IsPartial(p) == of.whole {
						t.Errorf("%+v: %+v", of.scope, p)
					}
				}
				if calls.Load() != 2 {
					t.Errorf("the transform was called %d times", calls.Load())
				}
			}
		})
	}
}

func TestAFieldThatNoPodHasAndAnIndexOfWhatIsLeftOutAreErrors(t *testing.T) {
	client := podServer(t, runtime.ContentTypeProtobuf)
	byNode := SharedIndexInformerOptions{Indexers: Indexers{"node": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }}}
	for want, c := range map[string]struct {
		scope   ScopedListerWatcher
		options SharedIndexInformerOptions
	}{
		`cannot keep "spec.nodename"`:            {scope: ScopedListerWatcher{Keep: []string{"spec.nodename"}}},
		`reads spec.nodeName, which is left out`: {scope: ScopedListerWatcher{Keep: []string{"status.phase"}}, options: byNode},
		"":                                       {scope: ScopedListerWatcher{Keep: []string{"spec.nodeName"}}, options: byNode},
	} {
		c.scope.ListerWatcher = generated(client)
		_, err := NewScopedInformer(&corev1.Pod{}, ScopedInformerOptions{SharedIndexInformerOptions: c.options}, c.scope)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAnIndexThatIsRefusedKeepsOutTheOthersThatAreAddedWithIt(t *testing.T) {
	for range 20 { // indexes are added in any order
		inf := newScoped(t, ScopedInformerOptions{}, ScopedListerWatcher{ListerWatcher: server(t), Keep: []string{"spec.nodeName"}})
		indexers := Indexers{"a": byNode, "b": byNode, "c": byNode, "z": func(obj any) ([]string, error) {
			return []string{string(obj.(*corev1.Pod).Status.Phase)}, nil
		}}
		if err := inf.AddIndexers(indexers); !errors.As(err, new(*source.LeftOutError)) {
			t.Fatalf("an index of what is left out: %v", err)
		}
		if n := len(inf.GetIndexer().GetIndexers()) + len(inf.Kinglet().WritableStore().IndexFuncs()); n != 0 {
			t.Errorf("%d indexes are left", n)
		}
		delete(indexers, "z")
		if err := inf.AddIndexers(indexers); err != nil {
			t.Fatal(err)
		}
	}
}

// podsOnceSynced runs an informer of a scope until it has its two pods.
func podsOnceSynced(t *testing.T, scope ScopedListerWatcher) (pods []*corev1.Pod) {
	t.Helper()
	inf := newScoped(t, ScopedInformerOptions{}, scope)
	defer start(inf.RunWithContext)()
	if !WaitFor(t.Context(), "", inf.HasSyncedChecker()) {
		t.Fatal("not synced")
	}
	for _, obj := range inf.GetStore().List() {
		pods = append(pods, obj.(*corev1.Pod))
	}
	if len(pods) != 2 {
		t.Fatalf("%d pods", len(pods))
	}
	return pods
}
