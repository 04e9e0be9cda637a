package clone

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// BenchmarkPod copies a pod by its plan, and by its own method.
func BenchmarkPod(b *testing.B) {
	pods := make([]*corev1.Pod, 200)
	for i := range pods {
		pods[i] = testpods.Large(i/20, i, 1, false)
	}
	pointer := reflect.TypeFor[*corev1.Pod]()
	whole := Of(pointer)
	for name, f := range map[string]func(to, from *corev1.Pod){
		"plan":         func(to, from *corev1.Pod) { whole.Copy(to, from) },
		"DeepCopyInto": func(to, from *corev1.Pod) { from.DeepCopyInto(to) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				var to corev1.Pod
				f(&to, pods[i%len(pods)])
			}
		})
	}
}

// BenchmarkUntyped copies an unstructured pod, and by runtime.DeepCopyJSON.
func BenchmarkUntyped(b *testing.B) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(testpods.Large(1, 1, 1, false))
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func(map[string]any) map[string]any{"plan": Untyped, "DeepCopyJSON": runtime.DeepCopyJSON} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(object)
			}
		})
	}
}
