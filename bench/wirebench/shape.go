package main

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/source"
)

// The functions here may write into what they are given, as transforms do.

// withoutManagedFields is what most transforms in the field do.
func withoutManagedFields(p *corev1.Pod) (*corev1.Pod, error) {
	p.ManagedFields = nil
	return p, nil
}

// transform writes deep into the object, to what pods of one template have in
// common: no value of a variable gets into memory, and no managed fields.
func transform(p *corev1.Pod) (*corev1.Pod, error) {
	p.ManagedFields = nil
	for i := range p.Spec.Containers {
		env := p.Spec.Containers[i].Env
		for k := range env {
			env[k].Value = ""
		}
	}
	return p, nil
}

// transforms are what any engine may be given, by shape; none for whole.
var transforms = map[shape]func(*corev1.Pod) (*corev1.Pod, error){
	dropped:     withoutManagedFields,
	transformed: transform,
}

// kingletSource is where kinglet's pods come from. What an option of the
// source can do is not left to a transform.
func kingletSource(sh shape, from func(source.Options) (source.Source[*corev1.Pod], error)) (source.Source[*corev1.Pod], error) {
	src, err := from(source.Options{})
	if fn := transforms[sh]; fn != nil && err == nil {
		src = source.Map(src, fn)
	}
	return src, err
}
