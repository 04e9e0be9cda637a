package cluster

import "slices"

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
