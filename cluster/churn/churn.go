package churn

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
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

	mu      sync.Mutex
	rate    float64       // guarded by mu
	changed chan struct{} // guarded by mu: closed and replaced when rate changes
	named   int           // guarded by mu: deployments that were given a name
}

// New returns a Churn that writes through client. It starts nothing.
func New(client kubernetes.Interface, opts Options) (*Churn, error) {
	if err := validateRate(opts.Rate); err != nil {
		return nil, err
	}
	return &Churn{client: client, opts: opts, rate: opts.Rate, changed: make(chan struct{})}, nil
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

// Run creates the deployments that are missing, and then operates at the rate
// until ctx ends; then it returns nil. What it made stays, and a later run goes
// on with it.
func (c *Churn) Run(ctx context.Context) error {
	if c.opts.Deployments == 0 {
		<-ctx.Done()
		return nil
	}
	for slot := range c.opts.Deployments {
		for ctx.Err() == nil && !c.try(ctx, slot, c.fill) {
		}
	}
	for began := time.Now(); c.waitTurn(ctx, began); {
		began = time.Now()
		c.try(ctx, rand.IntN(c.opts.Deployments), c.operate)
	}
	return nil
}

// waitTurn waits until an operation is due after the one that began at last,
// and returns false if ctx ends first.
func (c *Churn) waitTurn(ctx context.Context, last time.Time) bool {
	for ctx.Err() == nil {
		c.mu.Lock()
		rate, changed := c.rate, c.changed
		c.mu.Unlock()
		var due <-chan time.Time // never, at rate 0
		if rate > 0 {
			// The longest duration that there is, for the slowest rates.
			gap := time.Duration(min(float64(time.Second)/rate, math.MaxInt64/2))
			due = time.After(gap - time.Since(last))
		}
		select {
		case <-due:
			return ctx.Err() == nil
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

// try does one thing about the deployment of a slot, and returns whether it has
// succeeded. A failure is reported, and followed by a pause.
func (c *Churn) try(ctx context.Context, slot int, do func(context.Context, int) error) bool {
	request, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := do(request, slot)
	if err != nil && ctx.Err() == nil {
		c.opts.OnError(err)
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
		}
	}
	return err == nil
}

// fill creates the deployment of a slot unless there is one.
func (c *Churn) fill(ctx context.Context, slot int) error {
	d, err := c.find(ctx, slot)
	if err != nil || d != nil {
		return err
	}
	return c.create(ctx, slot)
}

// operate creates the deployment of a slot, or changes it. Rolling moves the most
// objects, and deleting a deployment tells watchers the most at once.
func (c *Churn) operate(ctx context.Context, slot int) error {
	d, err := c.find(ctx, slot)
	if err != nil {
		return err
	}
	if d == nil {
		return c.create(ctx, slot)
	}
	deployments := c.client.AppsV1().Deployments(d.Namespace)
	var what string
	switch dice := rand.IntN(100); {
	case dice < 40:
		what = "roll"
		_, err = deployments.Patch(ctx, d.Name, types.StrategicMergePatchType, rollPatch(d), metav1.PatchOptions{})
	case dice < 70:
		what = "scale"
		_, err = deployments.Patch(ctx, d.Name, types.StrategicMergePatchType, c.scalePatch(d), metav1.PatchOptions{})
	case dice < 90:
		what = "delete a pod of"
		err = c.deleteSomePod(ctx, d)
	default:
		what = "delete"
		err = deployments.Delete(ctx, d.Name, metav1.DeleteOptions{})
	}
	if err == nil || apierrors.IsNotFound(err) { // somebody else deleted it
		return nil
	}
	return fmt.Errorf("churn: %s deployment %s/%s: %w", what, d.Namespace, d.Name, err)
}

func (c *Churn) namespace(slot int) string {
	return namespaceName(slot % ((c.opts.Deployments + 9) / 10))
}

// find returns the deployment of a slot, or nil if there is none.
func (c *Churn) find(ctx context.Context, slot int) (*appsv1.Deployment, error) {
	namespace := c.namespace(slot)
	list, err := c.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{managedBy: managedByUs, slotLabel: strconv.Itoa(slot)}.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("churn: deployments of %s: %w", namespace, err)
	}
	for i := range list.Items {
		if d := &list.Items[i]; d.DeletionTimestamp == nil {
			return d, nil
		}
	}
	return nil, nil
}

// create makes the deployment of a slot, under a name that it had not before, and
// its namespace.
func (c *Churn) create(ctx context.Context, slot int) error {
	c.mu.Lock()
	name := fmt.Sprintf("app-%d-%d", slot, c.named)
	c.named++
	c.mu.Unlock()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name:   c.namespace(slot),
		Labels: map[string]string{managedBy: managedByUs},
	}}
	_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("churn: namespace %s: %w", namespace.Name, err)
	}
	d := newDeployment(slot, c.opts.Replicas, name, namespace.Name)
	if _, err := c.client.AppsV1().Deployments(d.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("churn: create deployment %s/%s: %w", d.Namespace, d.Name, err)
	}
	return nil
}

// deleteSomePod deletes one pod of a deployment, if it has one.
func (c *Churn) deleteSomePod(ctx context.Context, d *appsv1.Deployment) error {
	pods := c.client.CoreV1().Pods(d.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: labels.Set{nameLabel: d.Name}.String()})
	if err != nil || len(list.Items) == 0 {
		return err
	}
	return pods.Delete(ctx, list.Items[rand.IntN(len(list.Items))].Name, metav1.DeleteOptions{})
}

// scalePatch asks for a number of replicas within half and one and a half of the
// average that is not the present one.
func (c *Churn) scalePatch(d *appsv1.Deployment) []byte {
	low, high := (c.opts.Replicas+1)/2, c.opts.Replicas+c.opts.Replicas/2
	if low == high { // one replica on average: one or two
		high++
	}
	n := low + rand.IntN(high-low) // of all but the highest
	if n == int(ptr.Deref(d.Spec.Replicas, 1)) {
		n = high
	}
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)
}
