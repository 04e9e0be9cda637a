package cache

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func TestAFailedWaitKnowsWhichInformerHasNotSyncedAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no RBAC"))
		lw := &ListWatch{
			ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return nil, refused },
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, refused },
		}
		inf := NewSharedInformer(lw, &corev1.Pod{}, 0)
		if err := inf.SetWatchErrorHandler(func(*Reflector, error) {}); err != nil {
			t.Fatal(err)
		}
		stop := runInformer(inf)
		defer stop()
		reg := handle(t, inf, &diary{})
		yes := func() bool { return true }
		stopped := make(chan struct{})
		close(stopped)
		left := func(f InformerSynced) string {
			return strings.Join(syncedWithin(stopped, []InformerSynced{yes, f, func() bool { panic("is not asked") }}).notSynced(), "\n")
		}
		for name, c := range map[string]struct {
			f     InformerSynced
			parts []string
		}{
			"an informer":          {inf.HasSynced, []string{"SharedIndexInformer *v1.Pod (", "no RBAC"}},
			"one inside a func":    {func() bool { return yes() && inf.HasSynced() }, []string{"SharedIndexInformer *v1.Pod (", "no RBAC"}},
			"a handler":            {reg.HasSynced, []string{"event handler", "no RBAC"}},
			"any other func":       {func() bool { return false }, []string{"TestAFailedWait"}},
			"two in one func":      {func() bool { a, b := inf.HasSynced(), reg.HasSynced(); return a && b }, []string{"SharedIndexInformer *v1.Pod (", "event handler"}},
			"a wait inside a wait": {func() bool { return WaitForCacheSync(stopped, inf.HasSynced) }, []string{"SharedIndexInformer *v1.Pod (", "no RBAC"}},
		} {
			said := left(c.f)
			for _, part := range c.parts {
				if !strings.Contains(said, part) {
					t.Errorf("%s: %q is not in what was said: %s", name, part, said)
				}
			}
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if WaitFor(ctx, "test", inf.HasSyncedChecker()) || WaitForCacheSync(ctx.Done(), inf.HasSynced) {
			t.Error("waited with success")
		}
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("waited %v", waited)
		}
	})
}

// More than a select has room for.
func TestAWaitForThousandsOfCheckersEnds(t *testing.T) {
	done := make(chan struct{})
	close(done)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var all []DoneChecker
	for range 70_000 {
		all = append(all, checker{done: done})
	}
	if !WaitFor(t.Context(), "", all...) || !WaitFor(ended, "", all...) {
		t.Error("all are done")
	}
	all = append(all, NewSharedInformer(&ListWatch{}, &corev1.Pod{}, 0).HasSyncedChecker())
	if WaitFor(ended, "", all...) {
		t.Error("one is not done")
	}
}

func TestAnInformerWithAControllerHasSyncedWhenItsHandlerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"))
		gate := make(chan struct{})
		d := &diary{during: func(string) { <-gate }}
		s, c := NewTransformingIndexerInformer(src, &corev1.Pod{}, 0, d, Indexers{"node": byNode}, func(obj any) (any, error) {
			obj.(*corev1.Pod).Spec.NodeName = "moved"
			return obj, nil
		})
		stop := runInformer(c)
		if c.HasSynced() {
			t.Error("synced before its handler has returned")
		}
		close(gate)
		d.expect(t, "first a@moved")
		if !c.HasSynced() || c.LastSyncResourceVersion() == "" {
			t.Error("not synced")
		}
		if got, err := s.ByIndex("node", "moved"); err != nil || len(got) != 1 {
			t.Errorf("by index: %v, %v", got, err)
		}
		src.Delete(testPod("a", "n1"))
		d.expect(t, "delete a@moved")
		stop()
		c.Run(nil) // refused: returns at once
	})
}
