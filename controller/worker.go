package controller

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/internal/proflabel"
)

// counts are the outcomes of runs.
type counts struct {
	succeeded, failed, terminal, panicked, timedOut atomic.Uint64
	// lastPanic is nil if there was none.
	lastPanic atomic.Pointer[time.Time]
	// took measures how long runs took, and waited how long their keys were queued.
	took, waited histogram.Histogram
}

// worker is what a worker is doing, for reports.
type worker[K comparable] struct {
	mu      sync.Mutex
	key     K         // guarded by mu
	began   time.Time // guarded by mu
	running bool      // guarded by mu
}

// look returns the key that a worker runs, and since when.
func (w *worker[K]) look() (key K, began time.Time, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.key, w.began, w.running
}

// begin records what the worker runs.
func (w *worker[K]) begin(key K, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key, w.began, w.running = key, began, true
}

func (w *worker[K]) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key, w.running = *new(K), false
}

// startWorker starts a goroutine that runs keys until the queue is stopped. Its
// profiles are labelled with the controller's name, as are those of the goroutines
// that runs start.
func (c *Controller[K]) startWorker(w *worker[K], workers *sync.WaitGroup) {
	workers.Add(1)
	go func() {
		proflabel.Restore(c.runs)
		returned := false
		defer func() {
			if !returned { // a run ended the goroutine
				c.startWorker(w, workers)
			}
			workers.Done()
		}()
		for {
			run, ok := c.queue.Take()
			if !ok {
				returned = true
				return
			}
			c.runKey(w, run)
		}
	}()
}

// runKey runs a key and passes the outcome to the queue, whether the reconciler
// returns, panics or ends the goroutine.
func (c *Controller[K]) runKey(w *worker[K], run keyqueue.Run[K]) {
	now := time.Now()
	w.begin(run.Key, now)
	c.counts.waited.Observe(run.Waited)
	ctx := c.runs
	if c.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opts.Timeout, ErrTimeout)
		defer cancel()
	}
	if run.Cause != causeAfter && run.Cause != causeRetry {
		c.hot.count(now, run.Key, run.Cause)
	}
	var result Result
	var out outcome
	returned := false
	defer func() {
		if !returned {
			// The value is nil after runtime.Goexit, which recover does not stop.
			value := recover()
			at := time.Now()
			c.counts.lastPanic.Store(&at)
			c.counts.panicked.Add(1)
			out = outcome{err: &PanicError{value, debug.Stack()}}
		}
		w.end()
		c.finish(ctx, run, result, out)
	}()
	var err error
	if result, err = c.reconciler.Reconcile(ctx, run.Key); err != nil {
		out = c.outcomeOf(err)
	}
	returned = true
}

// outcome is the error of a run, and what was found in it.
type outcome struct {
	err               error
	stopped, timedOut bool
	terminal          *terminalError
	retry             *retryError
}

// outcomeOf looks into an error. It calls methods of the program's, which may panic: Unwrap
// of a nil pointer, for instance.
func (c *Controller[K]) outcomeOf(err error) outcome {
	out, cause := outcome{err: err, timedOut: errors.Is(err, ErrTimeout)}, context.Cause(c.runs)
	out.stopped = cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, cause))
	errors.As(err, &out.terminal)
	errors.As(err, &out.retry)
	return out
}

func (c *Controller[K]) finish(ctx context.Context, run keyqueue.Run[K], result Result, out outcome) {
	err := out.err
	if err == nil {
		c.counts.succeeded.Add(1)
		c.end(run, keyqueue.Result{After: result.After, Head: result.Head, Cause: causeAfter})
		return
	}
	if out.stopped {
		c.end(run, keyqueue.Result{Err: err}) // it stopped, as its context asked
		return
	}
	if context.Cause(ctx) == ErrTimeout {
		c.counts.timedOut.Add(1)
		if !out.timedOut {
			err = errors.Join(ErrTimeout, err)
		}
	}
	c.counts.failed.Add(1)
	res := keyqueue.Result{Err: err, Cause: causeRetry}
	report := &RunError[K]{Controller: c.opts.Name, Key: run.Key, Failures: run.Failures + 1, Err: err}
	switch {
	case out.terminal != nil:
		c.counts.terminal.Add(1)
		res.Terminal = true
	case out.retry != nil:
		res.After = out.retry.after
	default:
		res.After = c.opts.Backoff.Delay(run.Failures + 1)
	}
	report.After = res.After
	c.end(run, res)
	c.opts.OnError(report)
}

// end passes the result of a run to the queue.
func (c *Controller[K]) end(run keyqueue.Run[K], res keyqueue.Result) {
	c.counts.took.Observe(c.queue.Finish(run, res))
}
