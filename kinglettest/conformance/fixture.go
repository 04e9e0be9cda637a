package conformance

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
)

// pod makes a pod. An empty namespace makes it look cluster-scoped.
func pod(namespace, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{}
	p.Namespace, p.Name = namespace, name
	for _, c := range change {
		c(p)
	}
	return p
}

func at(version string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.ResourceVersion = version }
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func identity(uid string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.UID = types.UID(uid) }
}

func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[key] = value
	}
}

// byNode indexes pods by their node. A pod without a node has no value.
func byNode(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a %T is not on a node", obj)
	}
	if p.Spec.NodeName == "" {
		return nil, nil
	}
	return []string{p.Spec.NodeName}, nil
}

// byLabels indexes pods by each label, as "key=value".
func byLabels(obj any) ([]string, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a %T has no labels", obj)
	}
	var values []string
	for k, v := range p.Labels {
		values = append(values, k+"="+v)
	}
	return values, nil
}

// keyed is an object for stores and queues whose key function reads key. One
// with the key "bad" has none.
type keyed struct {
	key   string
	value int
}

func keyOfKeyed(obj any) (string, error) {
	k, ok := obj.(keyed)
	if !ok {
		return "", fmt.Errorf("a %T has no key", obj)
	}
	if k.key == "bad" {
		return "", errBad
	}
	return k.key, nil
}

var errBad = fmt.Errorf("this object is bad")

// describe names an object by its key and, where it has one, its version.
func describe(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%v", obj)
	}
	name := m.GetName()
	if m.GetNamespace() != "" {
		name = m.GetNamespace() + "/" + name
	}
	if m.GetResourceVersion() != "" {
		name += "@" + m.GetResourceVersion()
	}
	return name
}

// names describes each object, in order of the descriptions.
func names(objects []any) []string {
	list := make([]string, 0, len(objects))
	for _, o := range objects {
		list = append(list, describe(o))
	}
	slices.Sort(list)
	return list
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

// same fails if got is not want. An empty list equals nil.
func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// value fails the test if there is an error.
func value[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}
