package churn

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// Labels and annotations of what is made here. By slotLabel a later run finds
// the deployments of an earlier one.
const (
	managedBy     = "app.kubernetes.io/managed-by"
	managedByUs   = "kinglet-churn"
	slotLabel     = "churn.kinglet-go.io/slot"
	revisionLabel = "churn.kinglet-go.io/revision" // on the pods as well
	nameLabel     = "app.kubernetes.io/name"
)

func namespaceName(n int) string { return fmt.Sprintf("team-%d", n) }

// newDeployment returns the deployment that op creates: a program with its
// sidecar, as pods in the wild have one.
func newDeployment(op operation, namespace string) *appsv1.Deployment {
	labels := map[string]string{nameLabel: op.name, managedBy: managedByUs}
	podLabels := map[string]string{
		nameLabel:     op.name,
		managedBy:     managedByUs,
		revisionLabel: strconv.Itoa(op.revision),
		"tier":        [...]string{"frontend", "backend", "batch"}[op.slot%3],
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name:      op.name,
			Namespace: namespace,
			Labels:    map[string]string{nameLabel: op.name, managedBy: managedByUs, slotLabel: strconv.Itoa(op.slot)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:             ptr.To(int32(op.replicas)),
			RevisionHistoryLimit: ptr.To[int32](2),
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       ptr.To(intstr.FromString("25%")),
					MaxUnavailable: ptr.To(intstr.FromString("25%")),
				},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: podLabels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](5),
					Containers: []corev1.Container{
						{
							Name:  "app",
							Image: "registry.example/" + op.name + ":v" + strconv.Itoa(op.revision),
							Args:  []string{"--listen=:8080", "--metrics=:9090", "--log=json"},
							Env: []corev1.EnvVar{
								{Name: "APP_NAME", Value: op.name},
								{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
							},
							Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
							Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
								corev1.ResourceCPU:    resource.MustParse("20m"),
								corev1.ResourceMemory: resource.MustParse("64Mi"),
							}},
						},
						{
							Name:  "proxy",
							Image: "registry.example/proxy:v3",
							Ports: []corev1.ContainerPort{{Name: "proxy", ContainerPort: 15001}},
							Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
								corev1.ResourceCPU:    resource.MustParse("5m"),
								corev1.ResourceMemory: resource.MustParse("16Mi"),
							}},
						},
					},
				},
			},
		},
	}
}

// rollPatch gives the pod template a new revision, and so a new image.
func rollPatch(op operation) []byte {
	return fmt.Appendf(nil,
		`{"spec":{"template":{"metadata":{"labels":{%q:"%d"}},"spec":{"containers":[{"name":"app","image":"registry.example/%s:v%d"}]}}}}`,
		revisionLabel, op.revision, op.name, op.revision)
}

func scalePatch(op operation) []byte {
	return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, op.replicas)
}

// slotOf reads back what newDeployment and the patches wrote.
func slotOf(d *appsv1.Deployment) (int, slot, bool) {
	i, err := strconv.Atoi(d.Labels[slotLabel])
	if err != nil || i < 0 || d.DeletionTimestamp != nil {
		return 0, slot{}, false
	}
	revision, err := strconv.Atoi(d.Spec.Template.Labels[revisionLabel])
	if err != nil {
		return 0, slot{}, false
	}
	return i, slot{name: d.Name, replicas: int(ptr.Deref(d.Spec.Replicas, 1)), revision: revision}, true
}
