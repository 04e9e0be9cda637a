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

	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// slowServer delays requests, or does not answer them at all.
type slowServer struct {
	typed.LeasesGetter
	hangs  atomic.Bool
	getFor atomic.Int64 // how long the next get is on its way
	// late is by how much the answer to the next write is late; then nothing gets through.
	late   atomic.Int64
	answer error // to that write, which is carried out in any case
	down   atomic.Bool
}

// request waits as long as the server does not answer.
func (s *slowServer) request(ctx context.Context) error {
	if s.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if s.down.Load() {
		return errors.New("connection refused")
	}
	return nil
}

func (s *slowServer) Leases(namespace string) typed.LeaseInterface {
	return slowLeases{s.LeasesGetter.Leases(namespace), s}
}

type slowLeases struct {
	typed.LeaseInterface
	server *slowServer
}

func (l slowLeases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := l.server.request(ctx); err != nil {
		return nil, err
	}
	testbubble.Pass(time.Duration(l.server.getFor.Swap(0)))
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l slowLeases) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := l.server.request(ctx); err != nil {
		return nil, err
	}
	got, err := l.LeaseInterface.Update(ctx, lease, o)
	return got, l.server.wrote(err)
}

func (l slowLeases) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := l.server.request(ctx); err != nil {
		return nil, err
	}
	got, err := l.LeaseInterface.Create(ctx, lease, o)
	return got, l.server.wrote(err)
}

// wrote waits until a write is answered.
func (s *slowServer) wrote(err error) error {
	if late := s.late.Swap(0); late > 0 {
		testbubble.Pass(time.Duration(late))
		s.down.Store(true)
		err = cmp.Or(s.answer, err)
	}
	return err
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

// client-go's elector counts from the answer, and leads beside the next for seconds.
func TestALeaderWhoseRenewalIsAnsweredLateIsToldBeforeAnotherLeads(t *testing.T) {
	for late := time.Second; late < 10*time.Second; late += 500 * time.Millisecond {
		for _, answer := range []error{nil, errors.New("it was carried out all the same")} {
			synctest.Test(t, func(t *testing.T) {
				client, server, a := slowReplica(t)
				server.answer = answer
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
				server.late.Store(int64(late))
				next, err := b.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				select {
				case <-first.Lost():
				default:
					t.Errorf("an answer after %v (%v): another leads, and this replica is not told", late, answer)
				}
				next.Release()
				first.Release()
			})
		}
	}
}

func TestAReplicaThatIsToldLateThatItLeadsDoesNotLeadBesideAnother(t *testing.T) {
	for late := time.Second; late < 30*time.Second; late += 500 * time.Millisecond {
		for _, exists := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				client, server, a := slowReplica(t)
				b := replica(t, client, "b")
				if exists {
					earlier, err := b.Acquire(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					earlier.Release()
				}
				server.late.Store(int64(late))
				ctx, cancel := context.WithCancel(t.Context())
				acquired := make(chan controller.Leadership, 1)
				go func() {
					defer close(acquired)
					if first, err := a.Acquire(ctx); err == nil {
						acquired <- first
					}
				}()
				synctest.Wait()
				next, err := b.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(20 * time.Second)
				select {
				case first := <-acquired:
					select {
					case <-first.Lost():
					default:
						t.Errorf("an answer after %v: two lead", late)
					}
					if late >= 13*time.Second {
						t.Errorf("an answer after %v: it led", late)
					}
					first.Release()
				default:
					if late < 13*time.Second {
						t.Errorf("an answer after %v: it does not lead", late)
					}
				}
				cancel()
				next.Release()
				<-acquired
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
