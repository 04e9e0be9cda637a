package nodes

import (
	"errors"
	"fmt"
	"time"
)

// Options configure New. The zero value is one node.
type Options struct {
	// Nodes is how many there are: node-0, node-1 and so on. 0 means 1.
	Nodes int

	// Workers is how many pods are written at the same time. 0 means 8.
	Workers int

	// JobDuration is how long a pod runs whose restart policy is not Always,
	// before it succeeds. 0 means one second.
	JobDuration time.Duration

	// LeaseInterval is the time between two renewals of a node's lease. 0 means
	// 10 seconds, as a kubelet does it; the lease lasts four times as long.
	LeaseInterval time.Duration

	// OnError is told what could not be written, which is tried again. Called
	// from the simulator's goroutines. nil means that nobody is told.
	OnError func(error)
}

// MaxNodes is how many nodes the address plan has room for.
const MaxNodes = 1 << 14

func (o *Options) validate() error {
	var errs []error
	if o.Nodes < 0 || o.Nodes > MaxNodes {
		errs = append(errs, fmt.Errorf("nodes: Nodes is %d, must be within 0 and %d", o.Nodes, MaxNodes))
	}
	if o.Workers < 0 {
		errs = append(errs, fmt.Errorf("nodes: Workers is %d, must not be negative", o.Workers))
	}
	if o.JobDuration < 0 {
		errs = append(errs, fmt.Errorf("nodes: JobDuration is %v, must not be negative", o.JobDuration))
	}
	if o.LeaseInterval < 0 {
		errs = append(errs, fmt.Errorf("nodes: LeaseInterval is %v, must not be negative", o.LeaseInterval))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Workers == 0 {
		o.Workers = 8
	}
	if o.JobDuration == 0 {
		o.JobDuration = time.Second
	}
	if o.LeaseInterval == 0 {
		o.LeaseInterval = 10 * time.Second
	}
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o
}
