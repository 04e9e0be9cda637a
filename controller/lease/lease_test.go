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

	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
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
		testbubble.Pass(time.Minute)
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
	// The Lease holds seconds in an int32.
	for _, d := range []time.Duration{900 * time.Millisecond, 15900 * time.Millisecond, -time.Second, 1 << 32 * time.Second} {
		_, err := lease.New(client, lease.Options{Namespace: "ns", Name: "l", Duration: d, RenewDeadline: 600 * time.Millisecond, RetryPeriod: 100 * time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), "Duration") {
			t.Errorf("a Duration of %v: %v", d, err)
		}
	}
}

// TestAReleaseThatConflictsIsTriedAgainAfterAPause has a server that refuses the release
// for as long as it is tried.
func TestAReleaseThatConflictsIsTriedAgainAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient()
		updates := 0
		client.PrependReactor("update", "leases", func(action k8stesting.Action) (bool, runtime.Object, error) {
			if *action.(k8stesting.UpdateAction).GetObject().(*coordinationv1.Lease).Spec.HolderIdentity != "" {
				return false, nil, nil
			}
			updates++
			return true, nil, apierrors.NewConflict(coordinationv1.Resource("leases"), "l", errors.New("it has changed"))
		})
		led, err := replica(t, client, "a").Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		led.Release()
		if updates < 2 || updates > 6 { // 10 s, every 2 s
			t.Errorf("%d attempts", updates)
		}
	})
}

// TestALostTermsRunsKeepTheLeaseUntilTheyHaveEnded has two controllers with one Elector,
// which lose leadership. One leads again and stops, while runs of the other go on.
func TestALostTermsRunsKeepTheLeaseUntilTheyHaveEnded(t *testing.T) {
	for _, test := range []struct {
		name   string
		leaves string // in which order they release: the member of the lost term, or of the new one
	}{
		{"the new term's member first", "new lost"},
		{"the lost term's member first", "lost new"},
		{"a third one joins after the new term's has left", "new third lost thirdLeaves"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newClient()
				var broken atomic.Bool
				client.PrependReactor("update", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
					return broken.Load(), nil, apierrors.NewInternalError(errors.New("broken"))
				})
				a, b := replica(t, client, "a"), replica(t, client, "b")
				acquire := func() controller.Leadership {
					led, err := a.Acquire(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return led
				}
				lost, again := acquire(), acquire()
				broken.Store(true)
				<-lost.Lost()
				if err := a.Err(); err == nil || !strings.Contains(err.Error(), "lease ns/l") || !strings.Contains(err.Error(), "broken") {
					t.Errorf("lost, and the error is %v", err)
				}
				again.Release()
				broken.Store(false)
				again = acquire()
				if err := a.Err(); err != nil {
					t.Errorf("a leads, and the error is %v", err)
				}
				leaves := strings.Fields(test.leaves)
				var third controller.Leadership
				for i, who := range leaves {
					switch who {
					case "new":
						again.Release()
					case "lost":
						lost.Release()
					case "third":
						third = acquire()
					case "thirdLeaves":
						third.Release()
					}
					if i == len(leaves)-1 {
						break
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if _, err := b.Acquire(ctx); err == nil {
						t.Errorf("b leads after %v of %v", leaves[:i+1], leaves)
					}
					cancel()
					if h := holder(t, client); h != "a" {
						t.Errorf("%q holds the lease after %v of %v", h, leaves[:i+1], leaves)
					}
				}
				if h := holder(t, client); h != "" {
					t.Errorf("%q holds the lease after all have released it", h)
				}
			})
		})
	}
}

// A controller that gives up before it leads ends the attempt, though the runs of a lost
// term go on: nobody is to lead for it.
func TestAnAttemptThatIsGivenUpEndsBesideALostTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient()
		var forbidden atomic.Bool
		client.PrependReactor("*", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
			return forbidden.Load(), nil, apierrors.NewForbidden(coordinationv1.Resource("leases"), "l", errors.New("no"))
		})
		a := replica(t, client, "a")
		lost, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		forbidden.Store(true)
		<-lost.Lost()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("leads although it may not: %v", err)
		}
		if err := a.Err(); !apierrors.IsForbidden(err) {
			t.Errorf("the error is %v", err)
		}
		forbidden.Store(false)
		testbubble.Pass(time.Minute)
		b := replica(t, client, "b") // a's lease has expired, and a does not try
		led, err := b.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		led.Release()
		lost.Release()
	})
}

// TestTheErrorIsThatOfTheLastAttempt has a replica that leads, another that waits, and
// one that takes the lease of the first by force.
func TestTheErrorIsThatOfTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient()
		var stolen atomic.Bool
		client.PrependReactor("update", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
			return stolen.Load(), nil, apierrors.NewConflict(coordinationv1.Resource("leases"), "l", errors.New("it has changed"))
		})
		a, b := replica(t, client, "a"), replica(t, client, "b")
		led, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := b.Acquire(ctx); err == nil {
			t.Fatal("b leads beside a")
		}
		if err := b.Err(); err != nil {
			t.Errorf("a leads, and b's error is %v", err)
		}
		l, err := client.Leases("ns").Get(t.Context(), "l", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		thief := "thief"
		l.Spec.HolderIdentity = &thief
		l.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		if _, err := client.Leases("ns").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		stolen.Store(true)
		<-led.Lost()
		led.Release()
		if err := a.Err(); err == nil || !strings.Contains(err.Error(), `held by "thief"`) {
			t.Errorf("a lost its lease to another, and the error is %v", err)
		}
	})
}
