package protobuf

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func TestANextVersionSharesWhatDidNotChangeWithTheLast(t *testing.T) {
	p := compile(t, podType)
	s := share.NewSession(share.NewTable(0))
	var versions []*corev1.Pod
	var last share.Result
	for round := range 4 {
		last = mustDecode(t, p, s, podBytes(1, 1, round, false), last)
		versions = append(versions, (*corev1.Pod)(last.Object))
	}
	a, b := versions[2], versions[3]
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] || a.Spec.SecurityContext != b.Spec.SecurityContext ||
		reflect.ValueOf(a.Labels).Pointer() != reflect.ValueOf(b.Labels).Pointer() ||
		a.ManagedFields[1].FieldsV1 != b.ManagedFields[1].FieldsV1 ||
		a.Status.ContainerStatuses[1].State.Running != b.Status.ContainerStatuses[1].State.Running ||
		unsafe.StringData(a.Name) != unsafe.StringData(b.Name) {
		t.Error("what did not change is not shared")
	}
	if &a.Status.ContainerStatuses[0] == &b.Status.ContainerStatuses[0] || a.Status.ContainerStatuses[0].RestartCount == b.Status.ContainerStatuses[0].RestartCount {
		t.Error("what changed is shared")
	}
}

// The table may forget that it has seen a value once: two values that take the
// same place push each other out until there is more room. So it gets more pods
// than three.
func TestPodsOfATemplateShareIt(t *testing.T) {
	p := compile(t, podType)
	s := share.NewSession(share.NewTable(0))
	var pods []*corev1.Pod
	for i := range 100 {
		pods = append(pods, (*corev1.Pod)(mustDecode(t, p, s, podBytes(1, i, 0, false), share.Result{}).Object))
	}
	a, b := pods[98], pods[99]
	if &a.Spec.Containers[0] != &b.Spec.Containers[0] || &a.Spec.Volumes[0] != &b.Spec.Volumes[0] ||
		&a.OwnerReferences[0] != &b.OwnerReferences[0] || reflect.ValueOf(a.Labels).Pointer() != reflect.ValueOf(b.Labels).Pointer() {
		t.Error("what the template says is not shared")
	}
}

// TestAQuantityThatStringWritesToIsSharedWithNobody: under the race detector,
// two goroutines that ask two objects for the same quantity would be found.
func TestAQuantityThatStringWritesToIsSharedWithNobody(t *testing.T) {
	limit := func(text string) *corev1.Pod {
		q := resource.MustParse(text)
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "a"},
			Spec: corev1.PodSpec{
				Volumes: []corev1.Volume{{Name: "scratch-with-a-long-name", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &q}}}},
				Containers: []corev1.Container{{Name: "server-with-a-long-name", Env: []corev1.EnvVar{{Name: "LIMIT", ValueFrom: &corev1.EnvVarSource{
					ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: q},
				}}}}},
			},
		}
	}
	for text, shared := range map[string]bool{"512Mi": false, "1Gi": true, "1.5Gi": false, "100m": true} {
		p := compile(t, podType)
		s := share.NewSession(share.NewTable(0))
		var all []*corev1.Pod
		for i := range 12 {
			pod := limit(text)
			raw := encode(t, reflect.ValueOf(pod))
			first := mustDecode(t, p, s, raw, share.Result{})
			pod.ResourceVersion = fmt.Sprint(i)
			second := mustDecode(t, p, s, encode(t, reflect.ValueOf(pod)), first)
			pod.ResourceVersion = fmt.Sprint(i + 10)
			third := mustDecode(t, p, s, encode(t, reflect.ValueOf(pod)), second)
			all = append(all, (*corev1.Pod)(first.Object), (*corev1.Pod)(second.Object), (*corev1.Pod)(third.Object))
		}
		limits := map[*resource.Quantity]bool{}
		var wg sync.WaitGroup
		for _, pod := range all {
			q, d := pod.Spec.Volumes[0].EmptyDir.SizeLimit, &pod.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef.Divisor
			limits[q] = true
			wg.Go(func() { _, _ = q.String(), d.String() })
		}
		wg.Wait()
		if got := len(limits) < len(all); got != shared {
			t.Errorf("%s: %d quantities in %d objects", text, len(limits), len(all))
		}
	}
}

func TestAllocationsOfAPodStayWithinTheirCeilings(t *testing.T) {
	p := compile(t, podType)
	s := share.NewSession(share.NewTable(0))
	for i := range 100 {
		mustDecode(t, p, s, podBytes(1, 100+i, 0, false), share.Result{})
	}
	var last share.Result
	rounds := make([][]byte, 16)
	for r := range rounds {
		rounds[r] = podBytes(1, 1, r, false)
		last = mustDecode(t, p, s, rounds[r], last)
	}
	r := 0
	next := testkit.Allocs(50, func() {
		last = mustDecode(t, p, s, rounds[r%len(rounds)], last)
		r++
	})
	again := testkit.Allocs(50, func() {
		if !mustDecode(t, p, s, rounds[(r-1)%len(rounds)], last).Same {
			t.Error("not the same")
		}
	})
	fresh := make([][]byte, testkit.AllocsCalls(50))
	for i := range fresh {
		fresh[i] = podBytes(1, 200+i, 0, false)
	}
	i := 0
	known := testkit.Allocs(50, func() {
		mustDecode(t, p, s, fresh[i], share.Result{})
		i++
	})
	t.Logf("next version %v, the same again %v, new of a known template %v", next, again, known)
	if raceDetector {
		return // sync.Pool forgets at random.
	}
	// The pod, the memo, three slices that changed, with a string or a pointer
	// of one element each, the resource version. What changed last time is
	// decoded before it can be found to be the same.
	// Of a new one besides: slices, maps and strings of its own, and what gauges
	// say is not worth asking for.
	if next > 12 || again > 8 || known > 36 {
		t.Errorf("next version %v, the same again %v, new of a known template %v", next, again, known)
	}
}
