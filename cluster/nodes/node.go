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
	return &corev1.Node{
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
		Spec:   corev1.NodeSpec{ProviderID: "kinglet://" + name},
		Status: nodeStatus(n, now),
	}
}

// nodeStatus returns what the n-th node reports at now.
func nodeStatus(n int, now time.Time) corev1.NodeStatus {
	room := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("64"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("1000"),
	}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		at := metav1.NewTime(now)
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at}
	}
	return corev1.NodeStatus{
		Capacity: room, Allocatable: room.DeepCopy(),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nodeAddress(n).String()},
			{Type: corev1.NodeHostName, Address: NodeName(n)},
		},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               fmt.Sprintf("%032x", n),
			SystemUUID:              fmt.Sprintf("00000000-0000-0000-0000-%012x", n),
			BootID:                  fmt.Sprintf("00000000-0000-0000-0001-%012x", n),
			KernelVersion:           "6.12.0-simulated",
			OSImage:                 "Simulated Linux",
			ContainerRuntimeVersion: "containerd://2.1.0",
			KubeletVersion:          kubeletVersion,
			OperatingSystem:         "linux",
			Architecture:            "amd64",
		},
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
			condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
		},
	}
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
