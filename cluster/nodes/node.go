package nodes

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	kubeletVersion = "v1.36.3"
	zones          = 3
)

// NodeName returns the name of the n-th node, counted from 0.
func NodeName(n int) string { return fmt.Sprintf("node-%d", n) }

// newNode returns the n-th node as a kubelet registers it.
func newNode(n int, now time.Time) *corev1.Node {
	name := NodeName(n)
	zone := fmt.Sprintf("zone-%c", 'a'+n%zones)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:           name,
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelTopologyZone:       zone,
				corev1.LabelTopologyRegion:     "region-1",
				corev1.LabelInstanceTypeStable: "simulated",
			},
		},
		Spec: corev1.NodeSpec{
			PodCIDR:    podCIDR(n).String(),
			PodCIDRs:   []string{podCIDR(n).String()},
			ProviderID: "kinglet://" + name,
		},
	}
	node.Status = nodeStatus(n, node.Status, now)
	return node
}

// nodeStatus returns what the n-th node reports at now, where last is what it
// reported before: conditions that stay keep the time of their transition.
func nodeStatus(n int, last corev1.NodeStatus, now time.Time) corev1.NodeStatus {
	status := *last.DeepCopy()
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(podsPerNode, resource.DecimalSI),
	}
	status.Capacity, status.Allocatable = room, room.DeepCopy()
	status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: nodeAddress(n).String()},
		{Type: corev1.NodeHostName, Address: NodeName(n)},
	}
	status.NodeInfo = corev1.NodeSystemInfo{
		MachineID:               fmt.Sprintf("%032x", n),
		SystemUUID:              fmt.Sprintf("00000000-0000-0000-0000-%012x", n),
		BootID:                  fmt.Sprintf("00000000-0000-0000-0001-%012x", n),
		KernelVersion:           "6.12.0-simulated",
		OSImage:                 "Simulated Linux",
		ContainerRuntimeVersion: "containerd://2.1.0",
		KubeletVersion:          kubeletVersion,
		OperatingSystem:         "linux",
		Architecture:            "amd64",
	}
	for _, want := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	} {
		setNodeCondition(&status, want, now)
	}
	return status
}

func setNodeCondition(status *corev1.NodeStatus, want corev1.NodeCondition, now time.Time) {
	want.LastHeartbeatTime = metav1.NewTime(now)
	for i, have := range status.Conditions {
		if have.Type != want.Type {
			continue
		}
		want.LastTransitionTime = have.LastTransitionTime
		if have.Status != want.Status {
			want.LastTransitionTime = metav1.NewTime(now)
		}
		status.Conditions[i] = want
		return
	}
	want.LastTransitionTime = metav1.NewTime(now)
	status.Conditions = append(status.Conditions, want)
}

// nodeReady reports whether the cluster believes node to be up. The node
// lifecycle controller says no when leases have been missing.
func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
