package main

import corev1 "k8s.io/api/core/v1"

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

// transforms make a pod what it is to be in the store, by shape; none for
// whole. kinglet has an option for dropped.
var transforms = map[shape]func(*corev1.Pod) (*corev1.Pod, error){
	dropped:     withoutManagedFields,
	transformed: transform,
}
