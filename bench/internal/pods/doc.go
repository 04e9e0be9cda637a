// Package pods makes the pods that benchmarks of whole informers work on:
// many, as large as real ones, and alike in the way that real ones are.
//
// A Collection is n pods in key order, over templates (as Deployments have
// them) and namespaces, one node for 40 pods. A pod has two containers with 13
// environment variables, 4 arguments, 2 ports, 3 mounts, two probes, resources
// and a security context each, 3 volumes of which one is projected, 2
// tolerations, 6 labels, 4 annotations of which one is its own, an owner
// reference, two managedFields entries (1.2 KB of FieldsV1 by the controller
// manager, 0.7 KB by the kubelet), 5 conditions, and two container statuses
// with container IDs of their own. It takes 6.3 KB in protobuf and 9.7 KB in
// JSON.
//
// What pods of one template have in common is what the template says: spec
// (but for the node), labels, the controller manager's fields, most of the
// container statuses. What is a pod's own: name, UID, versions, times, IPs,
// container IDs, the node's name, one annotation, and in the kubelet's fields
// the key of the pod's IP, as the API server writes it.
//
// A collection has rounds. Round 0 is its first state; in each later round the
// kubelet restarts one container of each pod, in an order that looks random,
// which changes the status and the time of the kubelet's managedFields entry,
// as it would on a real server. Resource versions are unique over all of it,
// and rise.
//
// Everything follows from the options: equal options, equal pods, on every
// machine.
package pods
