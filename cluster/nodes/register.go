package nodes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// registerRetry is the pause after a registration that failed, most often
// because the API server is not there yet.
const registerRetry = 200 * time.Millisecond

// register creates the nodes that do not exist. It returns false if ctx ends
// first.
func (s *Simulator) register(ctx context.Context) bool {
	var next atomic.Int64
	var running sync.WaitGroup
	for range min(s.opts.Workers, s.opts.Nodes) {
		running.Go(func() {
			for n := int(next.Add(1)) - 1; n < s.opts.Nodes; n = int(next.Add(1)) - 1 {
				for {
					err := s.registerNode(ctx, n)
					if err == nil {
						break
					}
					if ctx.Err() != nil {
						return
					}
					s.opts.OnError(fmt.Errorf("nodes: register %s: %w", NodeName(n), err))
					if !pause(ctx, registerRetry) {
						return
					}
				}
			}
		})
	}
	running.Wait()
	return ctx.Err() == nil
}

func (s *Simulator) registerNode(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := s.client.CoreV1().Nodes().Create(ctx, newNode(n, time.Now()), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // from an earlier run; see enqueueNode
	}
	return err
}

// pause waits for d, and returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
