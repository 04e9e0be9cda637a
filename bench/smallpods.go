package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// smallPods names the objects: 50 namespaces, one node for every 100 pods, in key
// order. Nothing in it shares memory with the pods.
type smallPods struct {
	n     int
	nodes []string
	node  []int // of each pod
	rnd   *rand.Rand
}

const smallNamespaces = 50

func newSmallPods(n int) *smallPods {
	w := &smallPods{n: n, nodes: make([]string, n/100), node: make([]int, n), rnd: rand.New(rand.NewPCG(7, 11))}
	for i := range w.nodes {
		w.nodes[i] = fmt.Sprintf("node-%06d", i)
	}
	for i := range w.node {
		w.node[i] = i % len(w.nodes)
	}
	w.rnd.Shuffle(n, func(i, j int) { w.node[i], w.node[j] = w.node[j], w.node[i] })
	return w
}

func (w *smallPods) namespace(i int) string {
	return fmt.Sprintf("namespace-%03d", i*smallNamespaces/w.n)
}

func (w *smallPods) name(i int) string {
	// As a ReplicaSet names its pods: 20 to a template.
	return fmt.Sprintf("deployment-%06d-5d8f7c9b4-%05x", i/20, uint32(i)*2654435761>>12)
}

// pod makes a fresh object, node moved by so many.
func (w *smallPods) pod(i, version, moved int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       w.namespace(i),
			Name:            w.name(i),
			UID:             types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i)),
			ResourceVersion: fmt.Sprint(version*w.n + i),
			Labels:          map[string]string{"app": "deployment"},
		},
		Spec: corev1.PodSpec{NodeName: strings.Clone(w.nodes[(w.node[i]+moved)%len(w.nodes)])},
	}
}

// pods makes all of them, fresh, in key order.
func (w *smallPods) pods(version, moved int) []*corev1.Pod {
	out := make([]*corev1.Pod, w.n)
	for i := range out {
		out[i] = w.pod(i, version, moved)
	}
	return out
}

// shuffled returns the pods in random order.
func (w *smallPods) shuffled(pods []*corev1.Pod) []*corev1.Pod {
	pods = append([]*corev1.Pod(nil), pods...)
	w.rnd.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods
}

// indexed returns the values of an index, in random order.
func (w *smallPods) indexed(name string) []string {
	values := slices.Clone(w.nodes)
	if name == "namespace" {
		values = nil
		for i := 0; i < w.n; i += w.n / smallNamespaces {
			values = append(values, w.namespace(i))
		}
	}
	w.rnd.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values
}
