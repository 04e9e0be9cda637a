package main

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slimFields are what a network agent holds of pods, Cilium's for example, beside what
// kinglet always does.
var slimFields = []string{
	"metadata.annotations",
	"spec.initContainers.name", "spec.initContainers.image", "spec.initContainers.ports", "spec.initContainers.volumeMounts.mountPath",
	"spec.containers.name", "spec.containers.image", "spec.containers.ports", "spec.containers.volumeMounts.mountPath",
	"spec.serviceAccountName", "spec.nodeName", "spec.hostNetwork",
	"status.phase", "status.conditions.type", "status.conditions.status", "status.hostIP", "status.podIP", "status.podIPs",
	"status.startTime", "status.containerStatuses.state.running", "status.containerStatuses.containerID", "status.qosClass",
}

// slim returns a pod with these fields alone, as the transforms do that programs write.
func slim(p *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name, Namespace: p.Namespace, UID: p.UID, ResourceVersion: p.ResourceVersion, Generation: p.Generation,
			Labels: p.Labels, Annotations: p.Annotations, OwnerReferences: p.OwnerReferences, Finalizers: p.Finalizers,
			DeletionTimestamp: p.DeletionTimestamp, DeletionGracePeriodSeconds: p.DeletionGracePeriodSeconds,
		},
		Spec: corev1.PodSpec{
			InitContainers: slimContainers(p.Spec.InitContainers), Containers: slimContainers(p.Spec.Containers),
			ServiceAccountName: p.Spec.ServiceAccountName, NodeName: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork,
		},
		Status: corev1.PodStatus{
			Phase: p.Status.Phase, HostIP: p.Status.HostIP, PodIP: p.Status.PodIP, PodIPs: p.Status.PodIPs,
			StartTime: p.Status.StartTime, QOSClass: p.Status.QOSClass,
			Conditions: slimmed(p.Status.Conditions, func(c corev1.PodCondition) corev1.PodCondition {
				return corev1.PodCondition{Type: c.Type, Status: c.Status}
			}),
			ContainerStatuses: slimmed(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) corev1.ContainerStatus {
				return corev1.ContainerStatus{State: corev1.ContainerState{Running: s.State.Running}, ContainerID: s.ContainerID}
			}),
		},
	}
}

func slimContainers(list []corev1.Container) []corev1.Container {
	return slimmed(list, func(c corev1.Container) corev1.Container {
		return corev1.Container{
			Name: c.Name, Image: c.Image, Ports: c.Ports,
			VolumeMounts: slimmed(c.VolumeMounts, func(m corev1.VolumeMount) corev1.VolumeMount {
				return corev1.VolumeMount{MountPath: m.MountPath}
			}),
		}
	})
}

func slimmed[E any](list []E, of func(E) E) []E {
	if list == nil {
		return nil
	}
	out := make([]E, len(list))
	for i := range list {
		out[i] = of(list[i])
	}
	return out
}
