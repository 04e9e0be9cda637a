package mutation

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/store"
)

type pod = *corev1.Pod

// world is a store and a detector that watches it, driven by hand.
type world[T any] struct {
	t        *testing.T
	store    *store.Store[T]
	detector *Detector[T]
	key      store.KeyFunc[T]
	errs     []*Error
}

func podKey(p pod) (store.Key, error) { return store.Key{Namespace: p.Namespace, Name: p.Name}, nil }

func key(name string) store.Key { return store.Key{Namespace: "ns", Name: name} }

func newWorld[T any](t *testing.T, keyFunc store.KeyFunc[T], opts Options[T]) *world[T] {
	t.Helper()
	w := &world[T]{t: t, key: keyFunc}
	var err error
	if w.store, err = store.New(store.Options[T]{KeyFunc: keyFunc}); err != nil {
		t.Fatal(err)
	}
	opts.KeyFunc = keyFunc
	opts.Snapshot = func() store.Reader[T] { return w.store.Snapshot() }
	opts.Report = func(err error) {
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("reported %T", err)
		}
		w.errs = append(w.errs, e)
	}
	if w.detector, err = New(opts); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world[T]) put(objs ...T) {
	w.t.Helper()
	for _, obj := range objs {
		key, err := w.key(obj)
		if err != nil {
			w.t.Fatal(err)
		}
		w.detector.Entering(key, obj)
	}
	for _, obj := range objs {
		if err := w.store.Put(obj); err != nil {
			w.t.Fatal(err)
		}
	}
	w.detector.Settled()
}

// check lets the detector compare and returns what it reported.
func (w *world[T]) check() []string {
	w.detector.Check()
	var lines []string
	for _, e := range w.errs {
		lines = append(lines, fmt.Sprintf("%s %s: %s -> %s", e.Key.Name, e.Path, e.Was, e.Is))
	}
	w.errs = nil
	return lines
}

// expect fails unless the next check reports exactly this.
func (w *world[T]) expect(want ...string) {
	w.t.Helper()
	got := w.check()
	if len(got) != len(want) {
		w.t.Errorf("reported\n%q, want\n%q", got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			w.t.Errorf("reported\n%q, want\n%q", got, want)
		}
	}
}

// fullPod has one of everything that is written to in these tests.
func fullPod(name string) pod {
	yes := true
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name,
			Labels:          map[string]string{"app": "web", "example.com/tier": "front"},
			OwnerReferences: []metav1.OwnerReference{{Name: "rs", Controller: &yes}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m", Time: &now, FieldsV1: testpods.FieldsV1(`{"f:spec":{}}`)}},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"disk": "ssd"},
			Containers: []corev1.Container{{
				Name: "c",
				Env:  []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}, {Name: "C", Value: "3"}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1.5Gi"),
				}},
			}},
		},
		Status: corev1.PodStatus{StartTime: &now, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
	}
}
