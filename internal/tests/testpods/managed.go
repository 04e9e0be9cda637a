package testpods

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managedFields are two entries: what the controller manager said when it
// created the pod, and what the kubelet said last.
func (t *template) managedFields(p *corev1.Pod, ip string, created, restarted int64) []metav1.ManagedFieldsEntry {
	entry := func(manager, subresource string, seconds int64, fields []byte) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: to(at(seconds)),
			FieldsType: "FieldsV1", FieldsV1: FieldsV1(string(fields)), Subresource: subresource,
		}
	}
	return []metav1.ManagedFieldsEntry{
		entry("kube-controller-manager", "", created, createdFields(p)),
		entry("kubelet", "status", restarted+9, kubeletFields(p, ip)),
	}
}

// createdFields are in the order in which the API server writes them, sorted.
// Of the variables those of the first container alone are named, which makes
// the 1.2 KB of an ordinary pod.
func createdFields(p *corev1.Pod) []byte {
	var b bytes.Buffer
	b.WriteString(`{"f:metadata":{"f:annotations":{".":{}`)
	for _, k := range slices.Sorted(maps.Keys(p.Annotations)) {
		fmt.Fprintf(&b, `,"f:%s":{}`, k)
	}
	b.WriteString(`},"f:generateName":{},"f:labels":{".":{}`)
	for _, k := range slices.Sorted(maps.Keys(p.Labels)) {
		fmt.Fprintf(&b, `,"f:%s":{}`, k)
	}
	fmt.Fprintf(&b, `},"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},"f:spec":{"f:containers":{`, p.OwnerReferences[0].UID)
	for k := range p.Spec.Containers {
		c := &p.Spec.Containers[k]
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"name\":\"%s\"}":{".":{},"f:args":{}`, c.Name)
		if k == 0 {
			b.WriteString(`,"f:env":{".":{}`)
			for _, e := range c.Env[2:8] {
				fmt.Fprintf(&b, `,"k:{\"name\":\"%s\"}":{".":{},"f:name":{},"f:value":{}}`, e.Name)
			}
			b.WriteByte('}')
		}
		b.WriteString(`,"f:image":{},"f:name":{},"f:resources":{}}`)
	}
	b.WriteString(`},"f:restartPolicy":{},"f:schedulerName":{},"f:volumes":{}}}`)
	return b.Bytes()
}

// kubeletFields name the pod's IP, as the API server has it for a list that is
// keyed by it: no two pods' are equal.
func kubeletFields(p *corev1.Pod, ip string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"f:status":{"f:conditions":{`)
	for k := range p.Status.Conditions {
		c := &p.Status.Conditions[k]
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k:{\"type\":\"%s\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}`, c.Type)
	}
	fmt.Fprintf(&b, `},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},"f:phase":{},"f:podIP":{},`+
		`"f:podIPs":{".":{},"k:{\"ip\":\"%s\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`, ip)
	return b.Bytes()
}
