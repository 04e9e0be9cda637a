package kinglet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
)

func TestSetLetsTheHealthyWorkWhileOneIsForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		healthy := newRig(t, kinglet.Options[pod]{Name: "healthy"}, newPod("a", "n1"))
		forbidden := newRig(t, kinglet.Options[pod]{Name: "secrets"})
		refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no RBAC policy matched"))
		forbidden.src.FailWatches(-1, refusal)
		forbidden.src.FailLists(-1, refusal)

		set := kinglet.NewSet(healthy.informer, forbidden.informer)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- set.Run(ctx) }()
		wait, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()

		err := set.WaitSynced(wait)
		var failed *kinglet.SetNotSyncedError
		if !errors.As(err, &failed) || failed.Total != 2 || len(failed.NotSynced) != 1 || failed.NotSynced[0].Name != "secrets" {
			t.Fatalf("got %v", err)
		}
		if !strings.Contains(err.Error(), "secrets: not synced") || !strings.Contains(err.Error(), "no RBAC policy matched") {
			t.Errorf("the error does not say which and why: %v", err)
		}
		if !apierrors.IsForbidden(err) {
			t.Errorf("the cause is not found in %v", err)
		}
		healthy.equal()
		healthy.must(healthy.src.Update(newPod("a", "n2")))
		synctest.Wait()
		healthy.equal()

		// What was forbidden works as soon as it is allowed.
		forbidden.src.FailWatches(0, nil)
		forbidden.src.FailLists(0, nil)
		if err := set.WaitSynced(ctx); err != nil {
			t.Error(err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestSetStartsInformersAddedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		set := kinglet.NewSet()
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- set.Run(ctx) }()
		synctest.Wait()
		late.must(set.Add(late.informer, late.informer))
		late.must(set.Add(late.informer)) // which is in it already
		late.must(set.WaitSynced(ctx))
		late.equal()
		stop()
		late.must(<-ended)
		if err := set.Add(late.informer); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("Add to a stopped set: %v", err)
		}
		if err := set.Run(ctx); !errors.Is(err, kinglet.ErrAlreadyRun) {
			t.Errorf("second Run: %v", err)
		}
	})
}

func TestASetNeitherKeepsNorWritesIntoItsCallersSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := newRig(t, kinglet.Options[pod]{}), newRig(t, kinglet.Options[pod]{}), newRig(t, kinglet.Options[pod]{})
		callers := make([]kinglet.Runnable, 0, 3)
		callers = append(callers, a.informer)
		behind := callers[:2]
		behind[1] = b.informer
		set := kinglet.NewSet(callers...)
		if err := set.Add(c.informer); err != nil {
			t.Fatal(err)
		}
		if behind[1] != kinglet.Runnable(b.informer) {
			t.Error("Add wrote behind the caller's slice")
		}
		callers[0] = b.informer
		if set.Informers()[0] != kinglet.Runnable(a.informer) {
			t.Error("a write of the caller's changed the set")
		}
		set.Informers()[0] = nil
		if set.Informers()[0] != kinglet.Runnable(a.informer) {
			t.Error("a write to what Informers returned changed the set")
		}
	})
}
