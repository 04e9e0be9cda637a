// Package nodes simulates the nodes of a cluster: it registers them, keeps
// their leases and conditions fresh, and does for the pods bound to them what
// a kubelet would do with containers that start at once and end when told to.
//
// A [Simulator] talks to an API server and to nothing else, so it works with
// any control plane and, in tests, with client-go's fake. What a pod's status
// should be is decided by pure functions of the pod and the time (status.go),
// what a node's by functions of its number (node.go); simulator.go carries
// their answers to the server.
//
// Goroutines: one Run has one reflector for pods and one for nodes, eight workers
// that apply what is queued, and up to four that renew leases.
//
// # Why not kwok
//
// sigs.k8s.io/kwok v0.8.0 was considered first. Its controllers resolve beside
// Kubernetes 1.36.3 without a conflict, but minimal version selection then lifts
// grpc, OpenTelemetry and golang.org/x beyond what that release was tested
// with, and fifty more packages are built (a jq interpreter, sprig, helpers for
// CEL), all to interpret stages that say what a few lines of Go say here. Nor
// could it be tested without a control plane.
package nodes
