package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/kubernetes/typed/coordination/v1/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/internal/testclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client whose leases are in memory.
func newClient() *fake.FakeCoordinationV1 {
	f := &k8stesting.Fake{}
	f.AddReactor("*", "*", k8stesting.ObjectReaction(k8stesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())))
	return &fake.FakeCoordinationV1{Fake: f}
}

func replica(t *testing.T, client *fake.FakeCoordinationV1, name string) *lease.Elector {
	t.Helper()
	e, err := lease.New(client, lease.Options{Namespace: "ns", Name: "l", Identity: name})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func holder(t *testing.T, client *fake.FakeCoordinationV1) string {
	t.Helper()
	l, err := client.Leases("ns").Get(context.Background(), "l", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func TestOneReplicaLeadsAndTheNextFollowsWhenItLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient()
		a, b := replica(t, client, "a"), replica(t, client, "b")
		first, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "lease ns/l") {
			t.Errorf("a second leader: %v", err)
		}
		// Two controllers of the first replica lead together.
		also, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		first.Release()
		testclock.Pass(time.Minute)
		if h := holder(t, client); h != "a" {
			t.Errorf("%q holds the lease while a controller of a's runs", h)
		}
		also.Release()
		if h := holder(t, client); h != "" {
			t.Errorf("%q holds the lease after the release", h)
		}
		began := time.Now()
		next, err := b.Acquire(t.Context())
		if err != nil || time.Since(began) > 0 {
			t.Errorf("the next leads after %v: %v", time.Since(began), err)
		}
		next.Release()
	})
}

func TestALeaderThatCannotRenewIsToldAndDoesNotFreeTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient()
		var broken atomic.Bool
		client.PrependReactor("update", "leases", func(action k8stesting.Action) (bool, runtime.Object, error) {
			obj := action.(k8stesting.UpdateAction).GetObject().(*coordinationv1.Lease)
			if broken.Load() && *obj.Spec.HolderIdentity != "" {
				return true, nil, apierrors.NewInternalError(errors.New("broken"))
			}
			return false, nil, nil
		})
		a := replica(t, client, "a")
		led, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		began := time.Now()
		<-led.Lost()
		if d := time.Since(began); d > 13*time.Second {
			t.Errorf("told after %v, and the lease lasts 15 s", d)
		}
		if h := holder(t, client); h != "a" {
			t.Errorf("%q holds the lease, while a's runs may go on", h)
		}
		led.Release()
	})
}

func TestBadOptionsAreRefusedAllAtOnce(t *testing.T) {
	_, err := lease.New(nil, lease.Options{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"client is nil", "Namespace", "Name"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	client := newClient()
	if _, err := lease.New(client, lease.Options{Namespace: "ns", Name: "l", RenewDeadline: time.Hour}); err == nil {
		t.Error("a deadline longer than the lease is taken")
	}
}
