package clone

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAppendingToACopyMovesItsSlice(t *testing.T) {
	from := &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Args: []string{"a", "b"}}, {Args: []string{"c"}}},
	}}
	to := &corev1.Pod{}
	Of(reflect.TypeFor[*corev1.Pod]()).Copy(to, from)
	to.Spec.Containers[0].Args = append(to.Spec.Containers[0].Args, "x")
	if got := to.Spec.Containers[1].Args[0]; got != "c" {
		t.Errorf("the next container has %q", got)
	}
}

func TestAnObjectThatGrowsWhileItIsCopiedIsCopiedWithinItsMemory(t *testing.T) {
	p := Of(reflect.TypeFor[*corev1.Pod]())
	s := newSpace(p)
	from, to := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}, &corev1.Pod{}
	at := reflect.ValueOf(from).UnsafePointer()
	s.count(p.root.links, at)
	s.allocate()
	from.Spec.Containers = make([]corev1.Container, 9)
	from.Spec.Containers[8].Args = []string{"a"}
	s.copy(p.root, reflect.ValueOf(to).UnsafePointer(), at, 1)
	s.fill(p.root.links, at, reflect.ValueOf(to).UnsafePointer())
	if !reflect.DeepEqual(from, to) {
		t.Error("the copy differs")
	}
	if err := overlap(append(spansOf(to), spansOf(from)...)); err != nil {
		t.Error(err)
	}
}

func TestLayoutsAreBounded(t *testing.T) {
	p := newPlan(reflect.TypeFor[corev1.Pod]())
	for n := range 10 * maxLayouts {
		from := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1+n%8), Volumes: make([]corev1.Volume, 1+n/8%8)}}
		from.Finalizers = make([]string, 1+n/64)
		for range 3 {
			to := &corev1.Pod{}
			if p.Copy(to, from); !reflect.DeepEqual(to, from) {
				t.Fatal("the copy differs")
			}
		}
	}
	if known := *p.layouts.known.Load(); len(known) != maxLayouts {
		t.Errorf("%d layouts", len(known))
	}
	large := &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 500)}}
	p = newPlan(reflect.TypeFor[corev1.Pod]())
	for range 3 {
		p.Copy(&corev1.Pod{}, large)
	}
	if known := p.layouts.known.Load(); known != nil {
		t.Errorf("a large object has %d layouts", len(*known))
	}
}

func TestAPlanPanicsOnAnotherType(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it copies")
		}
	}()
	Of(reflect.TypeFor[*corev1.Pod]()).Copy(&corev1.Pod{}, &corev1.Node{})
}
