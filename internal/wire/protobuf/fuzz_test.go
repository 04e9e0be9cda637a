package protobuf

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// FuzzDecode compares Decode with the official decoder, alone and as the next
// version of another object, for types that have every kind of field between
// them.
func FuzzDecode(f *testing.F) {
	var plans, others []*Plan
	for _, typ := range []reflect.Type{
		podType, reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[appsv1.ControllerRevision](),
		reflect.TypeFor[autoscalingv2.HorizontalPodAutoscaler](), treeType,
	} {
		plans = append(plans, compile(f, typ))
		others = append(others, compile(f, typ))
	}
	held := podBytes(1, 1, 0, false)
	f.Add(uint8(0), held, podBytes(1, 1, 1, false))
	f.Add(uint8(1), held, held)
	f.Add(uint8(5), nested(3, 4), nested(102, 2))
	f.Fuzz(func(t *testing.T, which uint8, first, raw []byte) {
		p := plans[int(which)%len(plans)]
		s := share.NewSession(share.NewTable(0))
		last, _, err := p.Decode(s, first, share.Version{})
		if err != nil {
			last = share.Result{}
		}
		if p.whole != nil && !p.whole.fits(raw) {
			if _, _, err := p.Decode(s, raw, last.Version()); err == nil {
				t.Fatal("nests too deep, without an error")
			}
			return
		}
		// What somebody may hold that this plan did not make: an object of
		// another plan, and one without a memo, or with this one's.
		other, _, _ := others[int(which)%len(plans)].Decode(s, first, share.Version{})
		hand := share.Result{Memo: last.Memo}
		if v := reflect.New(p.root.typ); last.Object != nil && official.Unmarshal(first, v.Interface().(official.Protobuf)) == nil {
			hand.Object = v.UnsafePointer()
		}
		for _, held := range []share.Result{last, last, {}, {Object: last.Object}, other, {Object: other.Object, Memo: last.Memo}, hand} {
			agrees(t, p, s, raw, held)
		}
		agrees(t, p, share.NewSession(nil), raw, share.Result{})
	})
}
