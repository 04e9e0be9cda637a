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

// newDeployment returns the deployment of a slot: a program with its sidecar, as
// pods in the wild have one.
func newDeployment(slot, replicas int, name, namespace string) *appsv1.Deployment {
	labels := map[string]string{nameLabel: name, managedBy: managedByUs}
	podLabels := map[string]string{
		nameLabel:     name,
		managedBy:     managedByUs,
		revisionLabel: "1",
		"tier":        [...]string{"frontend", "backend", "batch"}[slot%3],
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: namespace,
			Labels:    map[string]string{nameLabel: name, managedBy: managedByUs, slotLabel: strconv.Itoa(slot)},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas:             ptr.To(int32(replicas)),
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
							Image: "registry.example/" + name + ":v1",
							Args:  []string{"--listen=:8080", "--metrics=:9090", "--log=json"},
							Env: []corev1.EnvVar{
								{Name: "APP_NAME", Value: name},
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

// rollPatch gives the pod template its next revision, and so a new image.
func rollPatch(d *appsv1.Deployment) []byte {
	revision, _ := strconv.Atoi(d.Spec.Template.Labels[revisionLabel])
	return fmt.Appendf(nil,
		`{"spec":{"template":{"metadata":{"labels":{%q:"%d"}},"spec":{"containers":[{"name":"app","image":"registry.example/%s:v%d"}]}}}}`,
		revisionLabel, revision+1, d.Name, revision+1)
}
