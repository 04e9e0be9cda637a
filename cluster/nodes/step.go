package nodes

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// A step is what a node does next about a pod: at most one of status and
// remove, or nothing, and when to look again without having been told to.
type step struct {
	status *corev1.PodStatus // to be written
	remove bool              // the containers are gone: finish the deletion
	after  time.Duration     // 0 means not before the pod changes
}

// next decides about pod, which is bound to the node at host and has, or is to
// have, the address addr. jobDuration is how long pods run that end by
// themselves. pod is not modified.
func next(pod *corev1.Pod, host, addr netip.Addr, jobDuration time.Duration, now time.Time) step {
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
