// Package lease elects the replica whose controllers run, by a Lease of
// Kubernetes: a controller.Elector over client-go's leader election, so that it
// agrees with the programs of others that use the same lease.
package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// if 0. It must be whole seconds, since the Lease holds no fractions. The clocks of
	// replicas may differ, but must run at the same pace.
	Duration time.Duration
	// RenewDeadline is how long this replica tries to renew before it gives up
	// leadership: 10 s if 0. It must be shorter than Duration. However late requests are
	// answered, it gives up before Duration has passed since it sent the last renewal, and
	// does not begin to lead later than that.
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
	// lost counts the members of terms that were lost that have not released: their
	// runs may not have ended, so the lease is not freed. Guarded by mu.
	lost int
	err  error // guarded by mu; see Err
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
	o.Duration = cmp.Or(o.Duration, 15*time.Second)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, 10*time.Second)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, 2*time.Second)
	// Other replicas read int32 seconds; the RenewDeadline is compared with the same below.
	if o.Duration < time.Second || time.Duration(int32(o.Duration/time.Second))*time.Second != o.Duration {
		errs = append(errs, fmt.Errorf("option Duration is %v, must be whole seconds, at least one: others would take the lease earlier than this replica gives it up", o.Duration))
	}
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

// Err returns the error of the last attempt to get or renew the Lease, such as that it is
// forbidden. It is nil if the attempt succeeded, or if another replica renews the Lease
// and this one has not lost it.
func (e *Elector) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		return nil
	}
	return fmt.Errorf("lease %s/%s: %w", e.opts.Namespace, e.opts.Name, e.err)
}

func (e *Elector) setErr(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err = err
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
	lock   *lock
	ctx    context.Context
	cancel context.CancelFunc
	// members are the controllers that lead, or wait to; guarded by e.mu.
	members int
	// released is set if the lease may be freed: nobody leads by it any more. Guarded
	// by e.mu.
	released bool
	// ended is set when no more requests are made to lead; guarded by e.mu.
	ended bool
	// leads is closed when this replica leads, lost when another may.
	leads, lost chan struct{}
	// over is closed when there are no goroutines of the term left.
	over chan struct{}
}

func (e *Elector) newTerm() *term {
	t := &term{e: e, leads: make(chan struct{}), lost: make(chan struct{}), over: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.lock = &lock{term: t, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.opts.Namespace, Name: e.opts.Name},
		Client:     e.client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.opts.Identity},
	}}
	return t
}

// elector returns client-go's elector for the term. It does not free the lease: it would
// after a failure to renew as well, when the runs of this replica may not have ended and
// others have to wait for the lease to expire.
func (t *term) elector() (*leaderelection.LeaderElector, error) {
	o := t.e.opts
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name:          o.Name,
		Lock:          t.lock,
		LeaseDuration: o.Duration,
		RenewDeadline: o.RenewDeadline,
		RetryPeriod:   o.RetryPeriod,
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
	t.cancel()
	if t.lock.expiry != nil {
		t.lock.expiry.Stop()
	}
	t.e.mu.Lock()
	if t.e.term == t {
		t.e.term = nil
	}
	t.ended = true
	t.e.lost += t.members
	released := t.released
	t.e.mu.Unlock()
	if !released {
		close(t.lost)
	} else if elector.IsLeader() {
		t.free()
	}
	close(t.over)
}

// free lets another replica lead at once. It does not touch the lease of another.
func (t *term) free() {
	o := t.e.opts
	ctx, cancel := context.WithTimeout(context.Background(), o.RenewDeadline)
	defer cancel()
	for {
		record, _, err := t.lock.Interface.Get(ctx)
		if apierrors.IsNotFound(err) || err == nil && record.HolderIdentity != o.Identity {
			return
		}
		if err == nil {
			now := metav1.Now()
			err = t.lock.Interface.Update(ctx, resourcelock.LeaderElectionRecord{
				LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
			})
		}
		if apierrors.IsConflict(err) {
			select {
			case <-time.After(o.RetryPeriod):
				continue
			case <-ctx.Done():
			}
		}
		if err != nil {
			slog.Default().Warn("lease was not released, and expires", "lease", o.Namespace+"/"+o.Name, "err", err)
		}
		return
	}
}

func (t *term) isLeading() bool {
	select {
	case <-t.leads:
		return true
	default:
		return false
	}
}

// leave takes a member out of the term. The term under way ends when it has no members
// and none are left of terms that were lost: freed, its lease would let another replica
// lead beside their runs. A term that does not lead yet ends without members.
func (t *term) leave() {
	e := t.e
	e.mu.Lock()
	t.members--
	wasLost := t.ended
	if wasLost {
		e.lost--
	}
	ending := e.term
	if ending != nil && ending.members == 0 && (e.lost == 0 || !ending.isLeading()) {
		ending.released = e.lost == 0
		e.term = nil
	} else {
		ending = nil
	}
	e.mu.Unlock()
	if ending != nil {
		ending.cancel()
		<-ending.over
	}
	if wasLost {
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

// lock records the errors of an elector's requests: see Elector.Err.
type lock struct {
	resourcelock.Interface
	term *term
	// renewed is when another replica had renewed the lease, by the last Get.
	renewed metav1.Time
	// sent is when a record with the RenewTime of asked was first sent: others count from
	// when they see that, however late it is answered.
	asked metav1.Time
	sent  time.Time
	// expiry ends the term if it is not renewed; nil before the first renewal.
	expiry *time.Timer
}

// sending notes when a record is sent.
func (l *lock) sending(r *resourcelock.LeaderElectionRecord) {
	if l.sent.IsZero() || !l.asked.Equal(&r.RenewTime) {
		l.asked, l.sent = r.RenewTime, time.Now()
	}
}

// extend has the term last until shortly before others take the lease for expired, as far as
// what was sent last shows. client-go's elector counts from the answer. The error is for an
// answer that comes later than that.
func (l *lock) extend() error {
	o := l.term.e.opts
	left := time.Until(l.sent.Add(max(o.RenewDeadline, o.Duration-o.RetryPeriod)))
	switch {
	case left <= 0:
		return fmt.Errorf("the server answered after %v, when others may take the lease", time.Since(l.sent))
	case l.expiry == nil:
		l.expiry = time.AfterFunc(left, l.term.cancel)
	default:
		l.expiry.Reset(left)
	}
	return nil
}

func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := l.Interface.Get(ctx)
	switch {
	case err != nil:
		if !apierrors.IsNotFound(err) {
			l.failed(err)
		}
	case r.HolderIdentity != l.Identity() && !r.RenewTime.Equal(&l.renewed):
		l.renewed = r.RenewTime
		err := error(nil)
		if l.term.isLeading() {
			err = fmt.Errorf("it is held by %q", r.HolderIdentity)
		}
		l.term.e.setErr(err)
	}
	return r, raw, err
}

func (l *lock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.sending(&r)
	return l.wrote(l.Interface.Create(ctx, r))
}

func (l *lock) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	l.sending(&r)
	return l.wrote(l.Interface.Update(ctx, r))
}

func (l *lock) wrote(err error) error {
	if err == nil {
		err = l.extend()
	}
	switch {
	case err == nil:
		l.term.e.setErr(nil)
	case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err): // else another was faster
		l.failed(err)
	}
	return err
}

// failed records an error, unless the term was to end.
func (l *lock) failed(err error) {
	if l.term.ctx.Err() == nil {
		l.term.e.setErr(err)
	}
}
