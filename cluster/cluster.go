package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/cluster/churn"
)

// A Cluster is a control plane in this process. Its methods may be called from
// any goroutine.
type Cluster struct {
	opts     Options
	dir      *folder
	identity *identity
	runDir   string // temporary, holds the socket, whose path must be short
	socket   string
	address  string // of the API server, the same for the cluster's life
	churner  *churn.Churn
	fatal    chan error // from goroutines that wanted to end the process

	op chan struct{} // holds one token: starting and stopping take turns

	mu      sync.Mutex
	running map[Component]process // guarded by mu
	expect  map[Component]bool    // guarded by mu: is being stopped
	stopped bool                  // guarded by mu
}

// process is one started component.
type process interface {
	// stop ends it, and returns once it has ended.
	stop(ctx context.Context) error
	// done is closed when it has ended, told to or not; failure is valid then.
	done() <-chan struct{}
	failure() error
}

// Start starts a control plane and returns once the components that
// opts.Components names have started: the API server answers /readyz with ok,
// and the simulated nodes are registered. ctx bounds the starting only; the
// cluster lives until Stop. If Start fails, it leaves nothing behind.
func Start(ctx context.Context, opts Options) (_ *Cluster, err error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if !occupied.CompareAndSwap(false, true) {
		return nil, ErrRunning
	}
	c := &Cluster{
		opts:    opts.withDefaults(),
		fatal:   make(chan error, 1),
		op:      make(chan struct{}, 1),
		running: map[Component]process{},
		expect:  map[Component]bool{},
	}
	defer func() {
		if err != nil {
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, c.Stop(stopCtx))
		}
	}()
	if err := setFeatureGates(c.opts.FeatureGates); err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	for _, component := range Components() {
		if c.opts.wants(component) {
			if err := c.StartComponent(ctx, component); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// prepare does everything that needs no component.
func (c *Cluster) prepare() (err error) {
	if c.dir, err = openFolder(c.opts.Dir); err != nil {
		return err
	}
	if err := setUpProcess(c.dir.log, c.opts.Verbosity, c.onFatal); err != nil {
		return err
	}
	if c.runDir, err = os.MkdirTemp("", "kinglet-"); err != nil {
		return err
	}
	c.socket = filepath.Join(c.runDir, "etcd.sock")
	if c.identity, err = c.dir.loadIdentity(); err != nil {
		return err
	}
	if err := c.chooseAddress(); err != nil {
		return err
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	c.churner, err = c.newChurn()
	return err
}

// chooseAddress takes the folder's last address if it is free, or a new one.
func (c *Cluster) chooseAddress() error {
	last, err := c.dir.loadAddress()
	if err != nil {
		return err
	}
	l, err := listen(last)
	if err != nil && last != "" {
		l, err = listen("")
	}
	if err != nil {
		return err
	}
	c.address = l.Addr().(*net.TCPAddr).String()
	if err := l.Close(); err != nil {
		return err
	}
	return c.dir.saveAddress(c.address)
}

func (c *Cluster) onFatal(err error) {
	select {
	case c.fatal <- err:
	default: // one is enough to fail a start
	}
	c.report(&ComponentError{Component: "control plane", Op: "run", Err: err})
}

func (c *Cluster) report(err error) {
	if c.opts.Failed != nil {
		c.opts.Failed(err)
	}
}

// acquire waits for the turn to start or stop something.
func (c *Cluster) acquire(ctx context.Context) error {
	select {
	case c.op <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Cluster) release() { <-c.op }

// StartComponent starts a component that is not running, on the data and at
// the address that it had. A component that runs is left alone.
func (c *Cluster) StartComponent(ctx context.Context, component Component) error {
	if !component.valid() {
		return fmt.Errorf("cluster: unknown component %q, known are %q", component, Components())
	}
	if err := c.acquire(ctx); err != nil {
		return &ComponentError{Component: component, Op: "start", Err: err}
	}
	defer c.release()
	c.mu.Lock()
	_, runs := c.running[component]
	stopped := c.stopped
	c.mu.Unlock()
	if stopped {
		return ErrStopped
	}
	if runs {
		return nil
	}
	select { // what went wrong before is not this start's fault
	case <-c.fatal:
	default:
	}
	began := time.Now()
	p, err := c.launch(ctx, component)
	if err != nil {
		return &ComponentError{Component: component, Op: "start", Err: err}
	}
	c.mu.Lock()
	c.running[component] = p
	delete(c.expect, component)
	c.mu.Unlock()
	go c.watch(component, p)
	if c.opts.Started != nil {
		c.opts.Started(component, time.Since(began))
	}
	return nil
}

func (c *Cluster) launch(ctx context.Context, component Component) (process, error) {
	switch component {
	case Etcd:
		return c.startEtcd(ctx)
	case APIServer:
		return c.startAPIServer(ctx)
	case ControllerManager:
		return c.startControllerManager(ctx)
	case Scheduler:
		return c.startScheduler(ctx)
	case Nodes:
		return c.startNodes(ctx)
	default:
		return c.startChurn(ctx)
	}
}

// watch reports a process that ends without having been told to.
func (c *Cluster) watch(component Component, p process) {
	<-p.done()
	c.mu.Lock()
	unexpected := !c.expect[component] && c.running[component] == p
	if unexpected {
		delete(c.running, component)
	}
	c.mu.Unlock()
	if unexpected {
		c.report(&ComponentError{Component: component, Op: "run", Err: cmp.Or(p.failure(), errEnded)})
	}
}

// StopComponent stops a component as a kill would: the API server resets its
// connections, etcd drops its clients, nodes fall silent. Data and address stay
// for the next start. A component that does not run is left alone.
//
// The other components live through it as they do in any cluster. Where the
// API server is lost again and again within minutes, their reflectors back off
// for up to a minute; a component started anew does not.
func (c *Cluster) StopComponent(ctx context.Context, component Component) error {
	if !component.valid() {
		return fmt.Errorf("cluster: unknown component %q, known are %q", component, Components())
	}
	if err := c.acquire(ctx); err != nil {
		return &ComponentError{Component: component, Op: "stop", Err: err}
	}
	defer c.release()
	return c.stopComponent(ctx, component)
}

func (c *Cluster) stopComponent(ctx context.Context, component Component) error {
	c.mu.Lock()
	p, runs := c.running[component]
	c.expect[component] = true
	c.mu.Unlock()
	if !runs {
		return nil
	}
	if err := p.stop(ctx); err != nil {
		return &ComponentError{Component: component, Op: "stop", Err: err}
	}
	c.mu.Lock()
	delete(c.running, component)
	c.mu.Unlock()
	return nil
}

// Stop stops every component, last started first, and removes what the cluster
// has made outside of Options.Dir. If ctx ends first, what still runs is left
// running and named in the error; Stop may be called again. After it has
// succeeded, it does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	if err := c.acquire(ctx); err != nil {
		return err
	}
	defer c.release()
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	if stopped {
		return nil
	}
	var errs []error
	order := Components()
	slices.Reverse(order)
	for _, component := range order {
		if err := c.stopComponent(ctx, component); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	tearDownProcess()
	if c.dir != nil {
		errs = append(errs, c.removeKubeconfig(), c.dir.close())
	}
	if c.runDir != "" {
		errs = append(errs, os.RemoveAll(c.runDir))
	}
	occupied.Store(false)
	return errors.Join(errs...)
}

// Server returns the API server's URL.
func (c *Cluster) Server() string { return "https://" + c.address }

// Dir returns the cluster's folder.
func (c *Cluster) Dir() string { return c.dir.path }

// KubeconfigFile returns the file of the administrator's kubeconfig.
func (c *Cluster) KubeconfigFile() string { return c.dir.file(kubeconfigFile) }

// RESTConfig returns a new client configuration for the administrator, without
// a limit on the client's side.
func (c *Cluster) RESTConfig() *rest.Config { return c.restConfig(c.identity.tokens[adminUser]) }

// Compact makes etcd forget every version before the current one, and returns
// that. Lists and watches at a forgotten version answer 410 Gone, except that
// a running API server still serves watches from its own memory of the last
// events: stop and start it to empty that.
func (c *Cluster) Compact(ctx context.Context) (revision int64, err error) {
	c.mu.Lock()
	p, runs := c.running[Etcd].(*etcdProcess)
	c.mu.Unlock()
	if !runs {
		return 0, errors.New("cluster: compact: etcd does not run")
	}
	return p.compact(ctx)
}

// SetChurn sets how many changes a second the churn component makes.
func (c *Cluster) SetChurn(rate float64) error { return c.churner.SetRate(rate) }

var (
	// ErrRunning is returned by Start while the process has a cluster already:
	// Kubernetes keeps feature gates, logging and configz process-wide, so one
	// process holds one control plane at a time.
	ErrRunning = errors.New("cluster: this process already runs a control plane")

	// ErrStopped is returned by every method of a cluster that has been stopped.
	ErrStopped = errors.New("cluster: the cluster has been stopped")

	// ErrInUse is wrapped when another process runs a cluster in Options.Dir.
	ErrInUse = errors.New("cluster: the folder is in use by another process")
)

// errEnded stands for an end without a reason of its own.
var errEnded = errors.New("ended without having been told to; the log may say why")

// A ComponentError says which component failed, and at what.
type ComponentError struct {
	Component Component
	Op        string // "start", "stop" or "run"
	Err       error
}

func (e *ComponentError) Error() string {
	return fmt.Sprintf("cluster: %s %s: %v", e.Op, e.Component, e.Err)
}

func (e *ComponentError) Unwrap() error { return e.Err }

// An ExitError stands for a component's attempt to end the whole process.
// Kubernetes does that through klog when, say, a start hook fails; here only
// the goroutine ends that tried to.
type ExitError struct{ Code int }

func (e *ExitError) Error() string {
	return fmt.Sprintf("wanted to exit the process with code %d; the log says why", e.Code)
}
