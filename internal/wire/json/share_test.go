package json

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func decodePod(t *testing.T, s *share.Session, p *Plan, raw string, last share.Result) (*corev1.Pod, share.Result) {
	t.Helper()
	r := p.mustEqual(t, s, []byte(raw), last.Version())
	return (*corev1.Pod)(r.Object), r
}

func TestPodsOfATemplateShareWhatItSays(t *testing.T) {
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	var pods []*corev1.Pod
	for i := range 20 {
		p, _ := decodePod(t, s, plan, string(podBytes(3, i, 0)), share.Result{})
		pods = append(pods, p)
	}
	// What is seen a second time is shared from then on; the first few pods
	// fill the doorkeeper.
	a, b := pods[18], pods[19]
	for what, same := range map[string]bool{
		"containers":  &a.Spec.Containers[0] == &b.Spec.Containers[0],
		"volumes":     &a.Spec.Volumes[0] == &b.Spec.Volumes[0],
		"labels":      reflect.ValueOf(a.Labels).UnsafePointer() == reflect.ValueOf(b.Labels).UnsafePointer(),
		"owners":      &a.OwnerReferences[0] == &b.OwnerReferences[0],
		"fields":      a.ManagedFields[0].FieldsV1 == b.ManagedFields[0].FieldsV1,
		"a namespace": unsafe.StringData(a.Namespace) == unsafe.StringData(b.Namespace),
		"a number":    a.Spec.TerminationGracePeriodSeconds == b.Spec.TerminationGracePeriodSeconds,
	} {
		if !same {
			t.Errorf("%s are not shared", what)
		}
	}
	if &a.Status.Conditions[0] == &b.Status.Conditions[0] {
		t.Error("unlike conditions are shared")
	}
}

func TestANextVersionSharesWhatDidNotChange(t *testing.T) {
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	old, held := decodePod(t, s, plan, string(podBytes(1, 1, 0)), share.Result{})
	for round := range 3 {
		now, r := decodePod(t, s, plan, string(podBytes(1, 1, round+1)), held)
		if &now.Spec.Containers[0] != &old.Spec.Containers[0] || &now.Status.PodIPs[0] != &old.Status.PodIPs[0] ||
			now.ManagedFields[1].FieldsV1 != old.ManagedFields[1].FieldsV1 || now.Status.StartTime != old.Status.StartTime ||
			unsafe.StringData(string(now.UID)) != unsafe.StringData(string(old.UID)) {
			t.Error("something was decoded again that had not changed")
		}
		old, held = now, r
	}
}

func TestAQuantityThatItsOwnStringWouldWriteIsNotShared(t *testing.T) {
	plan := podPlan(t)
	s := share.NewSession(share.NewTable(0))
	const pod = `{"metadata":{"labels":{"app":"something of some length"}},"spec":{"volumes":[{"name":"scratch space","emptyDir":{"sizeLimit":"511Mi"}}],` +
		`"containers":[{"name":"a name of some length","resources":{"limits":{"memory":"512Mi"}},"env":[{"name":"A","valueFrom":{"resourceFieldRef":{"resource":"cpu","divisor":"0"}}}]}]}}`
	lazy := strings.Replace(pod, "511Mi", "512Mi", 1)
	absent := strings.Replace(pod, `,"divisor":"0"`, "", 1)
	var held share.Result
	for i, c := range []struct {
		raw                 string
		volumes, containers bool
	}{
		{pod, false, false}, {pod, true, true}, {pod, true, true},
		// What is inside the containers is remembered from the first change on.
		{lazy, false, false}, {lazy, false, true}, {lazy, false, true},
		{pod, false, true}, {pod, true, true},
		{absent, true, false}, {absent, true, false}, {pod, true, false}, {pod, true, true},
	} {
		now, r := decodePod(t, s, plan, c.raw, held)
		if r.Memo == nil {
			t.Errorf("%d: no memo", i)
		}
		if held.Object != nil {
			was := (*corev1.Pod)(held.Object)
			if same := now.Spec.Volumes[0].EmptyDir == was.Spec.Volumes[0].EmptyDir; same != c.volumes {
				t.Errorf("%d: volumes shared: %v", i, same)
			}
			if same := now.Spec.Containers[0].Env[0].ValueFrom == was.Spec.Containers[0].Env[0].ValueFrom; same != c.containers {
				t.Errorf("%d: containers shared: %v", i, same)
			}
			if reflect.ValueOf(now.Labels).UnsafePointer() != reflect.ValueOf(was.Labels).UnsafePointer() {
				t.Errorf("%d: labels not shared", i)
			}
		}
		held = r
	}
}

func TestMemoryOfWhatWasFoundEqualIsNeverThatOfAnObject(t *testing.T) {
	// The same bytes come again and again between other versions and other
	// objects, which are given what was decoded in vain.
	seed := newRand(t).Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	plan, s := podPlan(t), share.NewSession(share.NewTable(0))
	lives := [][][]byte{life(8), pods(8)}
	var last [2]share.Result
	type kept struct{ object, copied *corev1.Pod }
	var all []kept
	again := 0
	for range 2_000 {
		i := rnd.IntN(2)
		raw := lives[i][rnd.IntN(1+rnd.IntN(8))]
		r, _, err := plan.Decode(s, raw, last[i].Version())
		if err != nil {
			t.Fatal(err)
		}
		if r.Same {
			again++
		} else {
			p := (*corev1.Pod)(r.Object)
			all = append(all, kept{p, p.DeepCopy()})
		}
		last[i] = r
	}
	for i, k := range all {
		if !reflect.DeepEqual(k.object, k.copied) {
			t.Fatalf("object %d of %d has changed since it was decoded", i, len(all))
		}
	}
	if again < 200 {
		t.Errorf("%d objects were found equal, so little was tested", again)
	}
}

func TestDroppedBytesCostNothingWhileTheyStayTheSame(t *testing.T) {
	p := podPlan(t, "metadata.managedFields", "spec")
	s := share.NewSession(share.NewTable(0))
	pod := testpods.Large(1, 1, 0, false)
	r, _, err := p.Decode(s, encodePod(pod), share.Version{})
	if err != nil {
		t.Fatal(err)
	}
	got := (*corev1.Pod)(r.Object)
	if got.ManagedFields != nil || got.Spec.Containers != nil || got.Name != pod.Name || got.Status.PodIP != pod.Status.PodIP {
		t.Errorf("%+v", got)
	}
	pod.ManagedFields[0].Manager = "somebody else"
	same, _, err := p.Decode(s, encodePod(pod), r.Version())
	if err != nil || !same.Same {
		t.Errorf("a change in what is dropped is a change: %v", err)
	}
}
