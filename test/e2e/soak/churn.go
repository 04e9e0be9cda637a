package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// retryAfter is the pause after a failed write. Most fail because the API server is down.
const retryAfter = 200 * time.Millisecond

// churn writes ConfigMaps. Only one run may be under way.
type churn struct {
	client kubernetes.Interface
	o      *options
	random *rand.Rand
	// alive has the slots that have an object, as far as is known.
	alive []bool
	stamp int

	writes, failures atomic.Uint64
}

func newChurn(client kubernetes.Interface, o *options, random *rand.Rand) *churn {
	return &churn{client: client, o: o, random: random, alive: make([]bool, namespaces*names)}
}

func churnNamespace(i int) string { return fmt.Sprintf("soak-%02d", i) }

// run writes at the rate until ctx ends.
func (c *churn) run(ctx context.Context) {
	tick := time.NewTicker(time.Duration(float64(time.Second) / c.o.rate))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := c.write(ctx); err != nil {
			c.failures.Add(1)
			pause(ctx, retryAfter)
			continue
		}
		c.writes.Add(1)
	}
}

// write makes one random write.
func (c *churn) write(ctx context.Context) error {
	slot := c.random.IntN(len(c.alive))
	maps := c.client.CoreV1().ConfigMaps(churnNamespace(slot / names))
	name := fmt.Sprintf("map-%03d", slot%names)
	switch dice := c.random.IntN(100); {
	case !c.alive[slot]:
		return c.create(ctx, slot, name)
	case dice < 70:
		_, err := maps.Update(ctx, c.object(name), metav1.UpdateOptions{})
		return c.learn(slot, err, true)
	default:
		err := maps.Delete(ctx, name, metav1.DeleteOptions{})
		if err = c.learn(slot, err, false); err != nil || dice < 85 {
			return err
		}
		// Another object replaces it at once.
		return c.create(ctx, slot, name)
	}
}

func (c *churn) create(ctx context.Context, slot int, name string) error {
	_, err := c.client.CoreV1().ConfigMaps(churnNamespace(slot/names)).Create(ctx, c.object(name), metav1.CreateOptions{})
	return c.learn(slot, err, true)
}

// learn records whether the slot has an object after a write with this error. alive is
// whether it has one if the write succeeded.
func (c *churn) learn(slot int, err error, alive bool) error {
	switch {
	case err == nil:
		c.alive[slot] = alive
	case apierrors.IsAlreadyExists(err):
		c.alive[slot] = true
	case apierrors.IsNotFound(err):
		c.alive[slot] = false
	default:
		return err // nobody knows
	}
	return nil
}

// object returns a new version. One in 50 is so large that it takes many reads.
func (c *churn) object(name string) *corev1.ConfigMap {
	c.stamp++
	size := 200 + c.random.IntN(2000)
	if c.random.IntN(50) == 0 {
		size = 100 << 10
	}
	text := make([]byte, size)
	for i := range text {
		text[i] = byte('a' + c.random.IntN(26))
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{"app": "soak", "kind": fmt.Sprint(c.stamp % 7)},
		},
		Data: map[string]string{"stamp": fmt.Sprint(c.stamp), "text": string(text), "same": "in all of them, and longer than what is not worth sharing"},
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
