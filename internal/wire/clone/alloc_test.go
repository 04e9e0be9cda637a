//go:build !race

package clone

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

func TestCopiesOfOneSizeAreMadeInOneAllocation(t *testing.T) {
	from := testpods.Large(1, 1, 1, false)
	from.Labels, from.Annotations = nil, nil
	for i := range from.Spec.Containers {
		from.Spec.Containers[i].Resources = corev1.ResourceRequirements{}
	}
	p, to := newPlan(reflect.TypeFor[corev1.Pod]()), &corev1.Pod{}
	for range 2 {
		p.Copy(to, from)
	}
	// The race detector has pools forget, and the collector empties them now and then.
	if n := testkit.Allocs(1000, func() { p.Copy(to, from) }); n > 3 {
		t.Errorf("%v allocations without the maps", n)
	}
}
