package churn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	requestTimeout = 10 * time.Second
	// retryAfter is the pause after a failure, most often because the API
	// server is away.
	retryAfter = 500 * time.Millisecond
)

// Options configure New. The zero value keeps nothing and does nothing.
type Options struct {
	// Deployments to keep, ten in a namespace, with about Replicas pods each:
	// scaling moves between half and one and a half of it.
	Deployments, Replicas int

	// Rate is how many operations there are a second. 0 means none once the
	// deployments exist.
	Rate float64

	// OnError is told about operations that failed; the next one is tried as
	// if nothing had happened. Called from Run.
	OnError func(error)
}

func validateRate(rate float64) error {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		return fmt.Errorf("churn: rate is %v, must be a number of operations a second", rate)
	}
	return nil
}

// Churn keeps deployments and changes them. SetRate may be called from any
// goroutine.
type Churn struct {
	client kubernetes.Interface
	opts   Options
	turn   chan struct{} // holds one token: Runs take turns

	mu      sync.Mutex
	rate    float64       // guarded by mu
	changed chan struct{} // guarded by mu: closed and replaced when rate changes
}

// New returns a Churn that writes through client. It starts nothing.
func New(client kubernetes.Interface, opts Options) (*Churn, error) {
	if err := validateRate(opts.Rate); err != nil {
		return nil, err
	}
	return &Churn{
		client:  client,
		opts:    opts,
		turn:    make(chan struct{}, 1),
		rate:    opts.Rate,
		changed: make(chan struct{}),
	}, nil
}

// SetRate sets how many operations there are a second, from now on.
func (c *Churn) SetRate(rate float64) error {
	if err := validateRate(rate); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate = rate
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

// Run finds the deployments of an earlier run, creates those that are missing,
// and then operates at the rate until ctx ends; then it returns nil. What it
// made stays. It may be called again after it has returned.
func (c *Churn) Run(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil
	}
	if c.opts.Deployments == 0 {
		<-ctx.Done()
		return nil
	}
	plan := newPlan(c.opts.Deployments, c.opts.Replicas)
	c.insist(ctx, func(ctx context.Context) error { return c.find(ctx, plan) })
	for ctx.Err() == nil {
		op, missing := plan.missing()
		if !missing {
			break
		}
		c.insist(ctx, func(ctx context.Context) error { return c.do(ctx, plan, op) })
	}
	for began := time.Now(); c.waitTurn(ctx, began); {
		began = time.Now()
		op, ok := plan.next()
		if !ok {
			continue
		}
		if err := c.do(ctx, plan, op); err != nil && ctx.Err() == nil {
			c.opts.OnError(err)
			pause(ctx, retryAfter)
		}
	}
	return nil
}

// insist calls fn until it succeeds or ctx ends.
func (c *Churn) insist(ctx context.Context, fn func(context.Context) error) {
	for ctx.Err() == nil {
		err := fn(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		c.opts.OnError(err)
		pause(ctx, retryAfter)
	}
}

// waitTurn waits until an operation is due after the one that began at last,
// and returns false if ctx ends first.
func (c *Churn) waitTurn(ctx context.Context, last time.Time) bool {
	for ctx.Err() == nil {
		c.mu.Lock()
		rate, changed := c.rate, c.changed
		c.mu.Unlock()
		if c.waitFor(ctx, last, rate, changed) {
			return true
		}
	}
	return false
}

// waitFor is waitTurn at one rate. It returns false when the rate changes or
// ctx ends.
func (c *Churn) waitFor(ctx context.Context, last time.Time, rate float64, changed <-chan struct{}) bool {
	var due <-chan time.Time // never, at rate 0
	if rate > 0 {
		// The longest duration that there is, for the slowest rates.
		gap := time.Duration(min(float64(time.Second)/rate, math.MaxInt64/2))
		timer := time.NewTimer(gap - time.Since(last))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		return ctx.Err() == nil
	case <-changed:
	case <-ctx.Done():
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (c *Churn) namespaces() int { return (c.opts.Deployments + 9) / 10 }

func (c *Churn) namespace(slot int) string { return namespaceName(slot % c.namespaces()) }

// find makes the namespaces, and tells the plan what is in them.
func (c *Churn) find(ctx context.Context, p *plan) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for n := range c.namespaces() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:   namespaceName(n),
			Labels: map[string]string{managedBy: managedByUs},
		}}
		_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("churn: namespace %s: %w", namespace.Name, err)
		}
		list, err := c.client.AppsV1().Deployments(namespace.Name).List(ctx, metav1.ListOptions{LabelSelector: managedBy + "=" + managedByUs})
		if err != nil {
			return fmt.Errorf("churn: deployments of %s: %w", namespace.Name, err)
		}
		for i := range list.Items {
			if slot, s, ok := slotOf(&list.Items[i]); ok && c.namespace(slot) == namespace.Name {
				p.found(slot, s)
			}
		}
	}
	return nil
}

// do carries out op and tells the plan how it went.
func (c *Churn) do(ctx context.Context, p *plan, op operation) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := c.apply(ctx, op)
	switch {
	case err == nil, op.kind == create && apierrors.IsAlreadyExists(err):
		p.done(op)
		return nil
	case op.kind != create && apierrors.IsNotFound(err):
		p.lost(op) // somebody else deleted it; the slot is filled again
		return nil
	}
	return fmt.Errorf("churn: %s deployment %s/%s: %w", op.kind, c.namespace(op.slot), op.name, err)
}

func (c *Churn) apply(ctx context.Context, op operation) error {
	namespace := c.namespace(op.slot)
	deployments := c.client.AppsV1().Deployments(namespace)
	var err error
	switch op.kind {
	case create:
		_, err = deployments.Create(ctx, newDeployment(op, namespace), metav1.CreateOptions{})
	case roll:
		_, err = deployments.Patch(ctx, op.name, types.StrategicMergePatchType, rollPatch(op), metav1.PatchOptions{})
	case scale:
		_, err = deployments.Patch(ctx, op.name, types.StrategicMergePatchType, scalePatch(op), metav1.PatchOptions{})
	case deletePod:
		err = c.deleteSomePod(ctx, namespace, op.name)
	case deleteDeployment:
		err = deployments.Delete(ctx, op.name, metav1.DeleteOptions{})
	}
	return err
}

// deleteSomePod deletes one pod of a deployment, if it has one.
func (c *Churn) deleteSomePod(ctx context.Context, namespace, deployment string) error {
	pods := c.client.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: labels.Set{nameLabel: deployment}.String()})
	if err != nil || len(list.Items) == 0 {
		return err
	}
	err = pods.Delete(ctx, list.Items[rand.IntN(len(list.Items))].Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil // gone already, by another hand
	}
	return err
}
