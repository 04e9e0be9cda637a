package cluster

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Options configure Start. The zero value is a whole control plane with one
// node, in a temporary folder.
type Options struct {
	// Dir keeps the cluster's data, keys, kubeconfig and log; a cluster started
	// later in the same folder goes on where this one stopped, at the same
	// address if that is still free. Empty: a temporary folder, which Stop
	// removes.
	Dir string

	// Kubeconfig is a further place to write the administrator's kubeconfig to;
	// Stop removes it. A file that is already there is replaced only if it
	// describes a kinglet cluster.
	Kubeconfig string

	// Nodes is the number of simulated nodes. 0 means 1; to have none, leave
	// Nodes out of Components.
	Nodes int

	// Deployments of Replicas pods each are kept, and changed Churn times a
	// second. Replicas 0 means 3. The rate can be changed later, SetChurn.
	Deployments int
	Replicas    int
	Churn       float64

	// Components to start, in any order; nil means all. The others can be
	// started later.
	Components []Component

	// FeatureGates are turned on or off in all components, by name. They hold for
	// the process, so all clusters in it need the same.
	FeatureGates map[string]bool

	// DisableAdmissionPlugins are plugins of the API server that are on by default and
	// are not to run, by name. Without ServiceAccount, pods can be created in a
	// namespace that no controller manager has made a service account in.
	DisableAdmissionPlugins []string

	// Verbosity of the components' log, Dir/cluster.log. 0 keeps warnings and
	// errors, 1 and more are klog's levels.
	Verbosity int

	// Started is called after each component has started, with how long it
	// took. May be nil.
	Started func(Component, time.Duration)

	// Failed is called when a component ends or fails without having been told
	// to, from a goroutine of the cluster's. The error is a *ComponentError.
	// May be nil.
	Failed func(error)
}

func (o *Options) validate() error {
	var errs []error
	if o.Nodes < 0 {
		errs = append(errs, fmt.Errorf("cluster: Nodes is %d, must not be negative", o.Nodes))
	}
	if o.Deployments < 0 {
		errs = append(errs, fmt.Errorf("cluster: Deployments is %d, must not be negative", o.Deployments))
	}
	if o.Replicas < 0 {
		errs = append(errs, fmt.Errorf("cluster: Replicas is %d, must not be negative", o.Replicas))
	}
	if !(o.Churn >= 0) || math.IsInf(o.Churn, 0) {
		errs = append(errs, fmt.Errorf("cluster: Churn is %v, must be a number of changes a second", o.Churn))
	}
	if o.Verbosity < 0 {
		errs = append(errs, fmt.Errorf("cluster: Verbosity is %d, must not be negative", o.Verbosity))
	}
	for _, c := range o.Components {
		if !c.valid() {
			errs = append(errs, fmt.Errorf("cluster: unknown component %q, known are %q", c, Components()))
		}
	}
	return errors.Join(errs...)
}

func (o *Options) withDefaults() Options {
	out := *o
	if out.Nodes == 0 {
		out.Nodes = 1
	}
	if out.Replicas == 0 {
		out.Replicas = 3
	}
	if out.Components == nil {
		out.Components = Components()
	}
	return out
}

func (o *Options) wants(c Component) bool { return slices.Contains(o.Components, c) }

// Component names one part of the control plane, by the name that Kubernetes
// gives it.
type Component string

// The components, in the order in which they start; they stop in the reverse.
const (
	Etcd              Component = "etcd"
	APIServer         Component = "kube-apiserver"
	ControllerManager Component = "kube-controller-manager"
	Scheduler         Component = "kube-scheduler"
	// Nodes are the simulated nodes, on which pods become Ready.
	Nodes Component = "nodes"
	// Churn keeps the demo deployments, and changes them at a rate.
	Churn Component = "churn"
)

// Components returns every component in the order in which they start.
func Components() []Component {
	return []Component{Etcd, APIServer, ControllerManager, Scheduler, Nodes, Churn}
}

func (c Component) valid() bool { return slices.Contains(Components(), c) }
