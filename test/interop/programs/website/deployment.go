package website

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNotOwned says that a Deployment of a Website's name belongs to somebody
// else.
var ErrNotOwned = errors.New("a Deployment of this name belongs to somebody else")

// NewDeployment is the Deployment that site wants.
func NewDeployment(site *Website) *appsv1.Deployment {
	labels := map[string]string{"website": site.Name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       site.Namespace,
			Name:            site.Name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(site, GroupVersion.WithKind("Website"))},
		},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64),
					Containers:                    []corev1.Container{{Name: "web"}},
				},
			},
		},
	}
	bring(d, site)
	return d
}

// Brought returns a copy of d that is as site wants it, or nil if d is. It fails
// if d is somebody else's.
func Brought(d *appsv1.Deployment, site *Website) (*appsv1.Deployment, error) {
	switch {
	case !metav1.IsControlledBy(d, site):
		return nil, ErrNotOwned
	case d.Spec.Replicas != nil && *d.Spec.Replicas == site.Spec.Replicas &&
		d.Spec.Template.Spec.Containers[0].Image == site.Spec.Image:
		return nil, nil
	}
	d = d.DeepCopy()
	bring(d, site)
	return d, nil
}

func bring(d *appsv1.Deployment, site *Website) {
	d.Spec.Replicas = new(site.Spec.Replicas)
	d.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
}

// StatusOf is what site's status should say, given its Deployment, or what is
// in the way.
func StatusOf(site *Website, d *appsv1.Deployment, err error) Status {
	st := Status{ObservedGeneration: site.Generation}
	switch {
	case err != nil:
		st.Message = err.Error()
	// What a Deployment says of the time before its last change does not count.
	case d.Status.ObservedGeneration >= d.Generation:
		st.AvailableReplicas = d.Status.AvailableReplicas
	}
	return st
}
