package cache

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// withoutNode counts its calls, and does what Drop says.
func withoutNode(calls *atomic.Int64) TransformFunc {
	return func(obj any) (any, error) {
		calls.Add(1)
		obj.(*corev1.Pod).Spec.NodeName = ""
		return obj, nil
	}
}

// TestATransformThatOnlyDropsIsNotCalledForWhatIsReadFromTheWire, and is wherever the
// wire is not read.
func TestATransformThatOnlyDropsIsNotCalledForWhatIsReadFromTheWire(t *testing.T) {
	client, _ := podServer(t, runtime.ContentTypeProtobuf)
	made := func() ListerWatcher {
		return NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", notGone)
	}
	for name, c := range map[string]struct {
		lw       ListerWatcher
		drop     []string
		disabled string
		calls    int64
	}{
		"read from the wire":           {lw: made(), drop: []string{"spec.nodeName"}},
		"without Drop":                 {lw: made(), calls: 2},
		"decoded by the client":        {lw: generated(client), drop: []string{"spec.nodeName"}, calls: 2},
		"without the fast path":        {lw: made(), drop: []string{"spec.nodeName"}, disabled: "yes", calls: 2},
		"a field that no pod can have": {lw: made(), drop: []string{"spec.nodName"}, calls: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(disableFastPath, c.disabled)
			var calls atomic.Int64
			scope := ScopedListerWatcher{ListerWatcher: c.lw, Transform: withoutNode(&calls), Drop: c.drop}
			for _, p := range podsOnceSynced(t, scope, nil) {
				if p.Spec.NodeName != "" {
					t.Errorf("%s is on node %q", p.Name, p.Spec.NodeName)
				}
			}
			if got := calls.Load(); got != c.calls {
				t.Errorf("the transform was called %d times, want %d", got, c.calls)
			}
		})
	}
}

func TestNothingIsDroppedWhereAnotherTransformIsSet(t *testing.T) {
	client, _ := podServer(t, runtime.ContentTypeProtobuf)
	scope := ScopedListerWatcher{
		ListerWatcher: NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", notGone),
		Drop:          []string{"spec.nodeName"},
	}
	for _, p := range podsOnceSynced(t, scope, moved("n9")) {
		if p.Spec.NodeName != "n9" {
			t.Errorf("%s is on node %q", p.Name, p.Spec.NodeName)
		}
	}
	for _, p := range podsOnceSynced(t, scope, nil) {
		if p.Spec.NodeName == "" {
			t.Errorf("%s lost its node to no transform", p.Name)
		}
	}
}

// podsOnceSynced runs an informer of a scope until it has its two pods. set, if not nil,
// is for SetTransform.
func podsOnceSynced(t *testing.T, scope ScopedListerWatcher, set TransformFunc) (pods []*corev1.Pod) {
	t.Helper()
	inf, err := NewScopedInformer(&corev1.Pod{}, ScopedInformerOptions{}, scope)
	if err != nil {
		t.Fatal(err)
	}
	if set != nil {
		if err := inf.SetTransform(set); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); inf.RunWithContext(ctx) }()
	defer func() { cancel(); <-ended }()
	if !WaitFor(ctx, "", inf.HasSyncedChecker()) {
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
