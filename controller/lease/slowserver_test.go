package lease_test

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/kubernetes/typed/coordination/v1/fake"

	"github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// slowServer delays requests, or does not answer them at all.
type slowServer struct {
	typed.LeasesGetter
	hangs  atomic.Bool
	getFor atomic.Int64 // how long the next get is on its way
}

func (s *slowServer) Leases(namespace string) typed.LeaseInterface {
	return slowLeases{s.LeasesGetter.Leases(namespace), s}
}

type slowLeases struct {
	typed.LeaseInterface
	server *slowServer
}

func (l slowLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if l.server.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	testbubble.Pass(time.Duration(l.server.getFor.Swap(0)))
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l slowLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.server.hangs.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.LeaseInterface.Update(ctx, lease, o)
}

func slowReplica(t *testing.T) (*fake.FakeCoordinationV1, *slowServer, *lease.Elector) {
	t.Helper()
	client := newClient()
	server := &slowServer{LeasesGetter: client}
	e, err := lease.New(server, lease.Options{Namespace: "ns", Name: "l", Identity: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return client, server, e
}

func TestALeaderWhoseServerDoesNotAnswerIsToldBeforeTheLeaseExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, server, e := slowReplica(t)
		led, err := e.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		server.hangs.Store(true)
		began := time.Now()
		<-led.Lost()
		if d := time.Since(began); d > 13*time.Second {
			t.Errorf("told after %v, and the lease lasts 15 s", d)
		}
		led.Release()
	})
}

// lateAnswers is a client of which one update is carried out and answered late, or with an
// error; then nothing gets through.
type lateAnswers struct {
	typed.LeasesGetter
	after atomic.Int64 // how late; 0 is none
	err   error
	down  atomic.Bool
}

func (s *lateAnswers) Leases(namespace string) typed.LeaseInterface {
	return lateLeases{s.LeasesGetter.Leases(namespace), s}
}

type lateLeases struct {
	typed.LeaseInterface
	s *lateAnswers
}

func (l lateLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if l.s.down.Load() {
		return nil, errors.New("connection refused")
	}
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l lateLeases) Update(ctx context.Context, obj *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if l.s.down.Load() {
		return nil, errors.New("connection refused")
	}
	got, err := l.LeaseInterface.Update(ctx, obj, o)
	if after := l.s.after.Swap(0); after > 0 {
		testbubble.Pass(time.Duration(after))
		l.s.down.Store(true)
		return got, cmp.Or(l.s.err, err)
	}
	return got, err
}

// client-go's elector counts from the answer, and leads beside the next for seconds.
func TestALeaderWhoseRenewalIsAnsweredLateIsToldBeforeAnotherLeads(t *testing.T) {
	for after := time.Second; after < 10*time.Second; after += 500 * time.Millisecond {
		for _, answer := range []error{nil, errors.New("it was carried out all the same")} {
			synctest.Test(t, func(t *testing.T) {
				client := newClient()
				s := &lateAnswers{LeasesGetter: client, err: answer}
				a, err := lease.New(s, lease.Options{Namespace: "ns", Name: "l", Identity: "a"})
				if err != nil {
					t.Fatal(err)
				}
				b := replica(t, client, "b")
				first, err := a.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(time.Minute)
				select {
				case <-first.Lost():
					t.Error("lost while all was well")
				default:
				}
				s.after.Store(int64(after))
				next, err := b.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				select {
				case <-first.Lost():
				default:
					t.Errorf("an answer after %v (%v): another leads, and this replica is not told", after, answer)
				}
				next.Release()
				first.Release()
			})
		}
	}
}

func TestAReleaseDoesNotFreeTheLeaseThatTheProgramHasAcquiredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server, e := slowReplica(t)
		first, err := e.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		testbubble.Pass(time.Minute)
		server.getFor.Store(int64(time.Second))
		released := make(chan struct{})
		go func() { first.Release(); close(released) }()
		synctest.Wait()
		again, err := e.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			testbubble.Pass(50 * time.Millisecond)
			if h := holder(t, client); h != "a" {
				t.Errorf("%q holds the lease while a leads", h)
				break
			}
		}
		<-released
		again.Release()
		if h := holder(t, client); h != "" {
			t.Errorf("%q holds the lease after the release", h)
		}
	})
}
