package workqueue

import (
	"context"
	"sync"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

type options struct {
	chunkSize int
}

// Options change how [ParallelizeUntil] deals out the pieces.
type Options func(*options)

// WithChunkSize makes workers take c pieces at a time. That is worth it if there are
// far more pieces than workers and each costs little.
func WithChunkSize(c int) func(*options) {
	return func(o *options) { o.chunkSize = c }
}

// ParallelizeUntil calls doWorkPiece for each number from 0 to pieces-1, on that many
// workers, and returns when all calls have returned. Once ctx is done, no further call
// begins. A nil ctx is never done.
//
// It needs no memory for pieces; client-go's has a channel of all of them.
func ParallelizeUntil(ctx context.Context, workers, pieces int, doWorkPiece DoWorkPieceFunc, opts ...Options) {
	if pieces <= 0 {
		return
	}
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	chunk := max(o.chunkSize, 1)
	chunks := (pieces-1)/chunk + 1
	var stop <-chan struct{}
	if ctx != nil {
		stop = ctx.Done()
	}
	var (
		wg   sync.WaitGroup
		next atomic.Int64 // the first chunk that no worker has taken
	)
	workers = min(workers, chunks)
	wg.Add(workers)
	for range workers {
		go func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			defer wg.Done()
			for {
				c := int(next.Add(1)) - 1
				if c >= chunks {
					return
				}
				start := c * chunk
				for p := start; p < pieces && p-start < chunk; p++ {
					select {
					case <-stop:
						return
					default:
						doWorkPiece(p)
					}
				}
			}
		}()
	}
	wg.Wait()
}
