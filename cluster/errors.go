package cluster

import (
	"errors"
	"fmt"
)

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
