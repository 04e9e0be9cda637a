// Package program reads fields in the ways that programs do.
package program

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Pods reads through a loop, its own function, a map, a variable and metadata's methods.
func Pods(pods []*corev1.Pod) (out []string) {
	for _, p := range pods {
		if p.DeletionTimestamp != nil || !labels.Everything().Matches(labels.Set(p.Labels)) {
			continue
		}
		for i := range p.Spec.Containers {
			out = append(out, image(&p.Spec.Containers[i]))
		}
		spec := p.Spec
		out = append(out, spec.NodeName, p.GetAnnotations()["a"], p.Spec.NodeSelector["b"], metav1.GetControllerOf(p).Name)
		if p.Status.StartTime.Before(&metav1.Time{Time: time.Now()}) && len(p.Status.Conditions) > 0 {
			p.Status.Phase = corev1.PodRunning
			p.Annotations["written"] = "to"
			out = append(out, fmt.Sprint(p.Status.QOSClass))
		}
	}
	return out
}

func image(c *corev1.Container) string { return c.Image }

// Deployment writes what it wants to have, and compares a part.
func Deployment(had *appsv1.Deployment) *appsv1.Deployment {
	want := had.DeepCopy()
	want.Spec.Replicas = new(int32)
	want.SetAnnotations(nil)
	want.Spec.Template.Spec.Containers[0].Image = "x"
	if reflect.DeepEqual(want.Spec.Strategy, had.Spec.Strategy) || want.Spec.Selector == nil {
		return nil
	}
	return want
}

// Ingress passes all of it on.
func Ingress(in *networkingv1.Ingress) ([]byte, error) {
	for _, r := range in.Spec.Rules {
		if r.Host == "" && in.Spec.DefaultBackend.Service.Port == (networkingv1.ServiceBackendPort{}) {
			return nil, nil
		}
	}
	return json.Marshal(in)
}
