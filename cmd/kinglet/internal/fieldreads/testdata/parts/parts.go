// Package parts puts parts of objects into others, and has objects become interfaces, in ways
// that do not say so in one expression.
package parts

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deepCopyInto(d *appsv1.Deployment, to *appsv1.DaemonSet) string {
	d.Spec.Template.DeepCopyInto(&to.Spec.Template)
	return d.Spec.Template.Name
}

func metadataInto(b, to *policyv1.PodDisruptionBudget) { b.ObjectMeta.DeepCopyInto(&to.ObjectMeta) }

func throughPointer(c *batchv1.CronJob, to *batchv1.Job) *bool {
	dst := &to.Spec
	*dst = c.Spec.JobTemplate.Spec
	return c.Spec.JobTemplate.Spec.Suspend
}

func throughSlice(s, to *corev1.Service) string {
	ports := to.Spec.Ports
	ports[0] = s.Spec.Ports[0]
	return s.Spec.Ports[0].Name
}

func target(h *autoscalingv2.HorizontalPodAutoscaler) (autoscalingv2.CrossVersionObjectReference, bool) {
	return h.Spec.ScaleTargetRef, h.Spec.ScaleTargetRef.Name != ""
}

func oneOfSeveral(h, to *autoscalingv2.HorizontalPodAutoscaler) (ok bool) {
	to.Spec.ScaleTargetRef, ok = target(h)
	return ok
}

func role() (*rbacv1.Role, error)                         { return nil, nil }
func lease() (*coordinationv1.Lease, error)               { return nil, nil }
func priorityClass() (*schedulingv1.PriorityClass, error) { return nil, nil }

func returned() (any, error) { return role() }
func passed()                { fmt.Println(lease()) }

func assigned(classes []*storagev1.StorageClass) (x any) {
	x, _ = priorityClass()
	for _, x = range classes {
	}
	return x
}

type targets [2]autoscalingv1.CrossVersionObjectReference

func compared(h *autoscalingv1.HorizontalPodAutoscaler, others targets) bool {
	return targets{h.Spec.ScaleTargetRef} == others && h.Spec.ScaleTargetRef.Kind == ""
}

type base struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type Based struct {
	base `json:",inline"`
	Spec string `json:"spec"`
}

func based(b *Based) string { return b.Spec + b.Annotations["a"] }
