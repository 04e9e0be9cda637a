package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// runningStatus returns the status of pod with its containers running. Times
// and restarts that are already reported stay, so it is what the pod has if
// nothing is to be reported. pod is not modified.
func runningStatus(pod *corev1.Pod, host, addr netip.Addr, now time.Time) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.ObservedGeneration = pod.Generation
	status.Phase = corev1.PodRunning
	status.Reason, status.Message = "", ""
	if status.StartTime == nil {
		status.StartTime = ptr.To(metav1.NewTime(now))
	}
	status.HostIP, status.HostIPs = host.String(), []corev1.HostIP{{IP: host.String()}}
	if status.PodIP == "" {
		status.PodIP, status.PodIPs = addr.String(), []corev1.PodIP{{IP: addr.String()}}
	}
	status.InitContainerStatuses = nil
	for _, container := range pod.Spec.InitContainers {
		s := containerStatus(pod, container, pod.Status.InitContainerStatuses, now)
		if ptr.Deref(container.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways {
			terminate(&s, now)
			s.Ready = true // for an init container: it has done its work
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, s)
	}
	status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(pod, container, pod.Status.ContainerStatuses, now))
	}
	setPodConditions(&status, gatesOpen(pod), "", now)
	return status
}

// endedStatus returns the status of pod after its containers have ended well.
func endedStatus(pod *corev1.Pod, now time.Time) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.ObservedGeneration = pod.Generation
	status.Phase = corev1.PodSucceeded
	for i := range status.InitContainerStatuses {
		terminate(&status.InitContainerStatuses[i], now)
	}
	for i := range status.ContainerStatuses {
		terminate(&status.ContainerStatuses[i], now)
	}
	setPodConditions(&status, false, "PodCompleted", now)
	return status
}

// containerStatus reports container as running, since when last says it does.
func containerStatus(pod *corev1.Pod, container corev1.Container, last []corev1.ContainerStatus, now time.Time) corev1.ContainerStatus {
	status := corev1.ContainerStatus{Name: container.Name}
	for _, s := range last {
		if s.Name == container.Name {
			status = *s.DeepCopy()
		}
	}
	if status.State.Running == nil && status.State.Terminated == nil {
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	}
	status.Ready = true
	status.Started = ptr.To(true)
	status.Image = container.Image
	status.ImageID = container.Image + "@sha256:" + digest(container.Image)
	status.ContainerID = "containerd://" + digest(string(pod.UID), container.Name)
	return status
}

func terminate(status *corev1.ContainerStatus, now time.Time) {
	if status.State.Terminated != nil {
		return
	}
	ended := &corev1.ContainerStateTerminated{
		Reason:      "Completed",
		StartedAt:   metav1.NewTime(now),
		FinishedAt:  metav1.NewTime(now),
		ContainerID: status.ContainerID,
	}
	if status.State.Running != nil {
		ended.StartedAt = status.State.Running.StartedAt
	}
	status.State = corev1.ContainerState{Terminated: ended}
	status.Ready = false
	status.Started = ptr.To(false)
}

// gatesOpen reports whether every readiness gate of pod has been opened.
func gatesOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		open := false
		for _, condition := range pod.Status.Conditions {
			open = open || condition.Type == gate.ConditionType && condition.Status == corev1.ConditionTrue
		}
		if !open {
			return false
		}
	}
	return true
}

// setPodConditions sets what a kubelet sets: reason is why the containers are
// not ready, or empty if they are.
func setPodConditions(status *corev1.PodStatus, ready bool, reason string, now time.Time) {
	is := func(condition bool) corev1.ConditionStatus {
		if condition {
			return corev1.ConditionTrue
		}
		return corev1.ConditionFalse
	}
	readyReason := reason
	if reason == "" && !ready {
		readyReason = "ReadinessGatesNotReady"
	}
	for _, want := range []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: is(reason == "")},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, Reason: reason},
		{Type: corev1.PodReady, Status: is(ready), Reason: readyReason},
		{Type: corev1.ContainersReady, Status: is(reason == ""), Reason: reason},
	} {
		setPodCondition(status, want, now)
	}
}

func setPodCondition(status *corev1.PodStatus, want corev1.PodCondition, now time.Time) {
	for i, have := range status.Conditions {
		if have.Type != want.Type {
			continue
		}
		want.LastProbeTime = have.LastProbeTime
		want.ObservedGeneration = have.ObservedGeneration
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

// digest is a name that looks like a container runtime's, and is the same each
// time it is asked for.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A step is what a node does next about a pod: at most one of status and
// remove, or nothing, and when to look again without having been told to.
type step struct {
	status *corev1.PodStatus // to be written
	remove bool              // the containers are gone: finish the deletion
	after  time.Duration     // 0 means not before the pod changes
}

// next decides about pod, which is bound to the node at host and is to have the address
// addr if it has none. pod is not modified.
func next(pod *corev1.Pod, host, addr netip.Addr, now time.Time) step {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	if pod.DeletionTimestamp != nil {
		return nextOfDeleted(pod, ended, now)
	}
	if ended {
		return step{}
	}
	want := runningStatus(pod, host, addr, now)
	if !apiequality.Semantic.DeepEqual(want, pod.Status) {
		return step{status: &want}
	}
	if pod.Spec.RestartPolicy == corev1.RestartPolicyAlways || pod.Spec.RestartPolicy == "" {
		return step{}
	}
	if left := jobDuration - now.Sub(pod.Status.StartTime.Time); left > 0 {
		return step{after: left}
	}
	want = endedStatus(pod, now)
	return step{status: &want}
}

func nextOfDeleted(pod *corev1.Pod, ended bool, now time.Time) step {
	if pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 && ended {
		return step{} // only its finalizers keep it, and they are others' business
	}
	if len(pod.Finalizers) > 0 && !ended {
		// Those who wait with a finalizer wait for the pod's end to be known.
		want := endedStatus(pod, now)
		return step{status: &want}
	}
	return step{remove: true}
}
