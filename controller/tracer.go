package controller

import (
	"context"
	"time"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// Tracer observes runs, for example to make spans of them. Workers call it
// concurrently. The run gets the context that RunBegins returns, which must be derived
// from the one that RunBegins was given. RunEnds gets the same context, and is called
// even if the run panics.
type Tracer interface {
	RunBegins(ctx context.Context, r RunInfo) context.Context
	RunEnds(ctx context.Context, r RunInfo, result RunResult)
}

// RunInfo is a run that begins.
type RunInfo struct {
	// Controller is Options.Name, and Key the key as fmt prints it.
	Controller, Key string
	// Cause is what requested the run: see KeyStatus.Cause.
	Cause string
	// Waited is how long the key was queued.
	Waited time.Duration
	// Failures is how often it failed since it last succeeded.
	Failures int
}

// RunResult is how a run ended.
type RunResult struct {
	// Err is what the Reconciler returned, or a *PanicError.
	Err error
	// After is Result.After.
	After time.Duration
}

func (c *Controller[K]) runInfo(run *keyqueue.Run[K]) RunInfo {
	return RunInfo{
		Controller: c.opts.Name, Key: keyText(run.Key), Cause: c.causeName(run.Cause), Waited: run.Waited, Failures: run.Failures,
	}
}
