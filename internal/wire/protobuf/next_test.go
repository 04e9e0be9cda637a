package protobuf

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// alter changes a pod in one of the ways in which runs of fields and of
// elements begin, end, grow, shrink and vanish.
func alter(r *rand.Rand, p *corev1.Pod) {
	when := metav1.Unix(1_760_000_000+int64(r.IntN(1000)), 0)
	conditions := &p.Status.Conditions
	switch r.IntN(14) {
	case 0:
		*conditions = append(*conditions, corev1.PodCondition{Type: corev1.PodConditionType(fmt.Sprint("example.com/condition-", r.IntN(100))), Status: "False"})
	case 1:
		if n := len(*conditions); n > 0 {
			*conditions = (*conditions)[:n-1]
		}
	case 2:
		if n := len(*conditions); n > 0 {
			at := r.IntN(n)
			*conditions = append((*conditions)[:at], (*conditions)[at+1:]...)
		}
	case 3:
		if n := len(*conditions); n > 0 {
			(*conditions)[r.IntN(n)].LastTransitionTime = when
		}
	case 4:
		p.Status.StartTime = nil
	case 5:
		p.Status.StartTime = &when
	case 6:
		p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: fmt.Sprint("fd00::", r.IntN(100))})
	case 7:
		p.Status.PodIPs, p.Status.HostIP = nil, ""
	case 8:
		p.Annotations = map[string]string{"example.com/note-of-some-length": fmt.Sprint(r.IntN(100))}
	case 9:
		p.Labels = nil
	case 10:
		p.Finalizers = append(p.Finalizers, fmt.Sprint("example.com/finalizer-", r.IntN(100)))
	case 11:
		p.Spec.NodeName = fmt.Sprint("node-", r.IntN(10))
	case 12:
		if n := len(p.ManagedFields); n > 0 {
			p.ManagedFields[n-1].Time = &when
		}
	case 13:
		for i := range p.Status.ContainerStatuses {
			p.Status.ContainerStatuses[i].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: fmt.Sprint("reason-", r.IntN(3))}}
		}
	}
}

func TestEachOfManyVersionsIsTheOfficialOneAndLeavesTheOnesBeforeAlone(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	p := compile(t, podType)
	s := share.NewSession(share.NewTable(0))
	for chain := range 20 {
		now := testpods.Large(chain%3, chain, 0, false)
		var last, before share.Result
		var wantBefore any
		for version := range 60 {
			now.ResourceVersion = fmt.Sprint(version)
			for range r.IntN(3) {
				alter(r, now)
			}
			raw := encode(t, reflect.ValueOf(now))
			want := unmarshaled(t, podType, raw)
			before, last = last, mustDecode(t, p, s, raw, last)
			if !reflect.DeepEqual((*corev1.Pod)(last.Object), want) {
				t.Fatalf("chain %d, version %d differs from the official one", chain, version)
			}
			if before.Object != nil && !reflect.DeepEqual((*corev1.Pod)(before.Object), wantBefore) {
				t.Fatalf("chain %d: version %d was written to by the next one", chain, version-1)
			}
			wantBefore = want
			if again := mustDecode(t, p, s, raw, last); !again.Same {
				t.Fatalf("chain %d, version %d: the same bytes are another version", chain, version)
			}
			if last.Memo.Bytes() > 4<<10 {
				t.Fatalf("chain %d, version %d: a memo of %d bytes", chain, version, last.Memo.Bytes())
			}
		}
	}
}
