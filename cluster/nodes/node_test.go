package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestANewNodeIsReadyAndHasRoom(t *testing.T) {
	node := newNode(3, testTime)
	if !nodeReady(node) || node.Name != NodeName(3) || node.Spec.PodCIDR != "10.0.12.0/22" {
		t.Errorf("got %+v", node)
	}
	if pods := node.Status.Allocatable.Pods().Value(); pods != podsPerNode {
		t.Errorf("it takes %d pods and has %d addresses", pods, podsPerNode)
	}
}

func TestAReportMovesHeartbeatsAndKeepsTransitions(t *testing.T) {
	node := newNode(0, testTime)
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			node.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
	}
	node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: "Others", Status: corev1.ConditionTrue})
	later := testTime.Add(time.Hour)
	node.Status = nodeStatus(0, node.Status, later)
	if !nodeReady(node) {
		t.Error("the node is not ready")
	}
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type == "Others":
			if !c.LastHeartbeatTime.IsZero() {
				t.Errorf("another's condition was touched: %+v", c)
			}
		case !c.LastHeartbeatTime.Time.Equal(later):
			t.Errorf("no heartbeat: %+v", c)
		case c.LastTransitionTime.Time.Equal(later) != (c.Type == corev1.NodeReady):
			t.Errorf("wrong time of transition: %+v", c)
		}
	}
}

func TestALeaseIsRenewedInACopy(t *testing.T) {
	node := newNode(1, testTime)
	node.UID = "uid"
	first := renewed(nil, node, 10*time.Second, testTime)
	second := renewed(first, node, 10*time.Second, testTime.Add(time.Minute))
	if !first.Spec.RenewTime.Time.Equal(testTime) || !second.Spec.RenewTime.Time.Equal(testTime.Add(time.Minute)) {
		t.Errorf("renewed at %v and %v", first.Spec.RenewTime, second.Spec.RenewTime)
	}
	if *second.Spec.LeaseDurationSeconds != 40 || second.OwnerReferences[0].UID != "uid" || second.Name != node.Name {
		t.Errorf("got %+v", second)
	}
}
