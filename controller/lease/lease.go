// Package lease elects the replica whose controllers run, by a Lease of
// Kubernetes: a controller.Elector over client-go's leader election, so that it
// agrees with the programs of others that use the same lease.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kinglet-go/kinglet/controller"
)

// Options of an Elector. Namespace and Name are needed.
type Options struct {
	// Namespace and Name are those of the Lease, which is created if need be.
	// The program needs the verbs get, create and update for it.
	Namespace, Name string
	// Identity tells this replica from the others: the host's name and a random
	// part if it is empty.
	Identity string
	// Duration is for how long a leader that is not heard of is left alone: 15 s
	// if 0. The clocks of replicas may differ, but must run at the same pace.
	Duration time.Duration
	// RenewDeadline is how long this replica tries to renew before it gives up
	// leadership: 10 s if 0. It must be shorter than Duration.
	RenewDeadline time.Duration
	// RetryPeriod is the time between two tries: 2 s if 0.
	RetryPeriod time.Duration
	// OnNewLeader, if not nil, is called with the identity of each new leader, this
	// replica included.
	OnNewLeader func(identity string)
}

// Elector has one replica lead at a time. Controllers of a program that have the
// same Elector lead together: leadership is released after the last of them. Make
// one with New. Its methods are safe for concurrent use.
type Elector struct {
	opts   Options
	client coordinationv1.LeasesGetter

	mu   sync.Mutex
	term *term // guarded by mu; nil while nobody leads or tries to
	last *term // guarded by mu; the last that was begun, which may be ending
}

var _ controller.Elector = (*Elector)(nil)

// New returns an Elector that uses the client for its requests: give it a
// timeout, and no rate limit that is shared with the controllers' requests. It
// makes no request itself. The error names everything that is wrong with o.
func New(client coordinationv1.LeasesGetter, o Options) (*Elector, error) {
	var errs []error
	if client == nil {
		errs = append(errs, errors.New("the client is nil"))
	}
	if o.Namespace == "" {
		errs = append(errs, errors.New("no Namespace"))
	}
	if o.Name == "" {
		errs = append(errs, errors.New("no Name"))
	}
	if o.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			errs = append(errs, fmt.Errorf("no Identity, and the host has no name: %w", err))
		}
		o.Identity = host + "_" + string(uuid.NewUUID())
	}
	o.Duration = orDefault(o.Duration, 15*time.Second)
	o.RenewDeadline = orDefault(o.RenewDeadline, 10*time.Second)
	o.RetryPeriod = orDefault(o.RetryPeriod, 2*time.Second)
	e := &Elector{opts: o, client: client}
	if len(errs) == 0 {
		if _, err := e.newTerm().elector(); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("lease %s/%s: %w", o.Namespace, o.Name, errors.Join(errs...))
	}
	return e, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// Acquire waits until this replica leads, or ctx ends.
func (e *Elector) Acquire(ctx context.Context) (controller.Leadership, error) {
	t, err := e.join()
	if err != nil {
		return nil, err
	}
	select {
	case <-t.leads:
		return &membership{term: t}, nil
	case <-t.lost:
		t.leave()
		return nil, fmt.Errorf("lease %s/%s: the election ended", e.opts.Namespace, e.opts.Name)
	case <-ctx.Done():
		t.leave()
		return nil, fmt.Errorf("lease %s/%s: %w", e.opts.Namespace, e.opts.Name, context.Cause(ctx))
	}
}

// join adds a controller to the term under way, or begins one.
func (e *Elector) join() (*term, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term == nil {
		t := e.newTerm()
		elector, err := t.elector()
		if err != nil {
			return nil, err
		}
		go t.run(elector, e.last)
		e.term, e.last = t, t
	}
	e.term.members++
	return e.term, nil
}

// term is the time from the first attempt to lead until leadership is lost or
// released.
type term struct {
	e      *Elector
	ctx    context.Context
	cancel context.CancelFunc
	// members are the controllers that lead, or wait to; guarded by e.mu.
	members int
	// leads is closed when this replica leads, lost when another may.
	leads, lost chan struct{}
	// over is closed when there are no goroutines of the term left.
	over chan struct{}
	// released is set before the last member lets go.
	released atomic.Bool
}

func (e *Elector) newTerm() *term {
	t := &term{e: e, leads: make(chan struct{}), lost: make(chan struct{}), over: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.WithValue(context.Background(), ofTerm{}, true))
	return t
}

// elector returns client-go's elector for the term.
func (t *term) elector() (*leaderelection.LeaderElector, error) {
	o := t.e.opts
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: o.Name,
		Lock: &lock{term: t, Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			Client:     t.e.client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		}},
		LeaseDuration:   o.Duration,
		RenewDeadline:   o.RenewDeadline,
		RetryPeriod:     o.RetryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(t.leads) },
			OnStoppedLeading: func() {},
			OnNewLeader:      o.OnNewLeader,
		},
	})
}

// run elects once the term before has ended: its release would free the lease that
// this one has acquired, as both have the same identity.
func (t *term) run(elector *leaderelection.LeaderElector, before *term) {
	if before != nil {
		<-before.over
	}
	elector.Run(t.ctx)
	t.e.mu.Lock()
	if t.e.term == t {
		t.e.term = nil
	}
	t.e.mu.Unlock()
	if !t.released.Load() {
		close(t.lost)
	}
	close(t.over)
}

// leave takes a member out of the term, which ends with the last.
func (t *term) leave() {
	t.e.mu.Lock()
	t.members--
	last := t.members == 0
	if last {
		t.released.Store(true)
		if t.e.term == t {
			t.e.term = nil
		}
	}
	t.e.mu.Unlock()
	if last {
		t.cancel()
		<-t.over
	}
}

// membership is a controller's part in the leadership of its program.
type membership struct {
	term *term
	once sync.Once
}

func (m *membership) Lost() <-chan struct{} { return m.term.lost }
func (m *membership) Release()              { m.once.Do(m.term.leave) }

// ofTerm is the key of a value that the context of a term has, and so those of its
// requests. A release has a context of its own.
type ofTerm struct{}

// lock keeps client-go's elector from freeing the lease when it failed to renew
// it: the runs of this replica may not have ended yet, and others have to wait
// for the lease to expire. It refuses the first request of such a release, since
// leadership counts as lost only when the elector is through with it, and a server
// that does not answer would take another RenewDeadline.
type lock struct {
	resourcelock.Interface
	term *term
}

var errHeld = errors.New("not released: the controllers have not stopped")

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if ctx.Value(ofTerm{}) == nil && !l.term.released.Load() {
		return nil, nil, errHeld
	}
	return l.Interface.Get(ctx)
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	if r.HolderIdentity == "" && !l.term.released.Load() {
		return errHeld
	}
	return l.Interface.Update(ctx, r)
}
