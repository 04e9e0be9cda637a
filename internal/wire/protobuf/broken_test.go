package protobuf

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// agrees compares Decode with the official decoder on bytes of any kind.
func agrees(t *testing.T, p *Plan, s *share.Session, raw []byte, last share.Result) {
	t.Helper()
	res, _, err := p.Decode(s, raw, last.Version())
	if tooLarge := (*scan.ExponentError)(nil); errors.As(err, &tooLarge) {
		return // the official decoder would take hours
	}
	want := reflect.New(p.root.typ).Interface()
	wantErr := official.Unmarshal(raw, want.(official.Protobuf))
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%v: %v, the official decoder: %v\n%x", p.root.typ, err, wantErr, raw)
	}
	if err != nil {
		return
	}
	if got := reflect.NewAt(p.root.typ, res.Object).Interface(); !gotype.Identical(reflect.ValueOf(got), reflect.ValueOf(want)) {
		t.Fatalf("%v: not what the official decoder makes of %x:\n%s", p.root.typ, raw, cmp.Diff(want, got))
	}
}

func TestBytesThatNoEncoderOfKubernetesWritesAreLeftToTheOfficialDecoder(t *testing.T) {
	p := compile(t, podType)
	raw := podBytes(1, 1, 0, false)
	long := func(b ...byte) []byte { return append(b, raw...) }
	for name, raw := range map[string][]byte{
		"metadata twice":                append(append([]byte(nil), raw...), raw...),
		"a group":                       long(0x7b, 0x7c),
		"a group that does not end":     long(0x7b),
		"the end of no group":           long(0x7c),
		"field number 0":                long(0x02, 0x00),
		"a wrong wire type":             long(0x08, 0x01),
		"an overlong tag":               long(0x8a, 0x80, 0x80, 0x00, 0x00),
		"an overlong tag of labels":     {0x0a, 0x09, 0xda, 0x00, 0x06, 0x0a, 0x01, 'a', 0x12, 0x01, 'b'},
		"an overlong tag of finalizers": {0x0a, 0x07, 0xf2, 0x00, 0x01, 'f', 0x72, 0x01, 'g'},
		"an overlong tag of containers": {0x12, 0x06, 0x92, 0x00, 0x03, 0x0a, 0x01, 'c'},
		"a tag beyond 32 bits":          long(0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00),
		"an unknown number":             long(0xf8, 0x07, 0x01),
		"a length beyond the data":      {0x0a, 0xff, 0xff, 0xff, 0xff, 0x07},
		"a negative length":             {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"a varint of eleven bytes":      {0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"a varint of 70 bits":           {0x0a, 0x02, 0x38, 0xff, 0x0a, 0x0c, 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"labels in two runs":            {0x0a, 0x14, 0x5a, 0x06, 0x0a, 0x01, 'a', 0x12, 0x01, 'b', 0x0a, 0x02, 'n', 'm', 0x5a, 0x06, 0x0a, 0x01, 'c', 0x12, 0x01, 'd'},
		"a label twice":                 {0x0a, 0x10, 0x5a, 0x06, 0x0a, 0x01, 'a', 0x12, 0x01, 'b', 0x5a, 0x06, 0x0a, 0x01, 'a', 0x12, 0x01, 'c'},
		"a label without value":         {0x0a, 0x05, 0x5a, 0x03, 0x0a, 0x01, 'a'},
		"a label without anything":      {0x0a, 0x02, 0x5a, 0x00},
		"a label, value first":          {0x0a, 0x08, 0x5a, 0x06, 0x12, 0x01, 'b', 0x0a, 0x01, 'a'},
		"a label that outgrows itself":  {0x0a, 0x08, 0x5a, 0x04, 0x0a, 0x01, 'a', 0x12, 0x01, 'b'},
		"a boolean of 2":                {0x12, 0x02, 0x58, 0x02},
		"nothing":                       {},
	} {
		t.Run(name, func(t *testing.T) {
			s := share.NewSession(share.NewTable(0))
			agrees(t, p, s, raw, share.Result{})
			agrees(t, p, s, raw, mustDecode(t, p, s, podBytes(1, 1, 0, false), share.Result{}))
			agrees(t, p, share.NewSession(nil), raw, share.Result{})
		})
	}
}

func TestWhatIsOnlyClaimedIsNotAllocated(t *testing.T) {
	p := compile(t, podType)
	s := share.NewSession(share.NewTable(0))
	// Labels: half a million times the same entry, with an empty key.
	var labels []byte
	for range 500_000 {
		labels = append(labels, 0x5a, 0x02, 0x0a, 0x00)
	}
	for name, c := range map[string]struct {
		raw   []byte
		bytes uint64
	}{
		"a length beyond the data": {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x07}, 64 << 10},
		"entries that repeat":      {wrap(1, labels), uint64(24 * len(labels))},
	} {
		if got := allocated(func() { p.Decode(s, c.raw, share.Version{}) }); got > c.bytes {
			t.Errorf("%s: %d bytes allocated for %d", name, got, len(c.raw))
		}
	}
}

// wrap makes b a field of a message.
func wrap(number byte, b []byte) []byte {
	res := []byte{number<<3 | wireBytes}
	for n := len(b); ; n >>= 7 {
		if n < 0x80 {
			res = append(res, byte(n))
			break
		}
		res = append(res, byte(n)|0x80)
	}
	return append(res, b...)
}

func TestFieldsAreDroppedThroughSlicesPointersAndEmbeddedStructs(t *testing.T) {
	p := compile(t, podType, "metadata.managedFields", "spec.containers.env", "spec.containers.livenessProbe.httpGet",
		"spec.volumes.configMap", "spec.volumes.configMap.items", "status.conditions.lastTransitionTime")
	s := share.NewSession(share.NewTable(0))
	var last share.Result
	for round := range 3 {
		raw := podBytes(1, 1, round, false)
		want := unmarshaled(t, podType, raw).(*podObject)
		want.ManagedFields = nil
		for i := range want.Spec.Containers {
			want.Spec.Containers[i].Env = nil
			want.Spec.Containers[i].LivenessProbe.HTTPGet = nil
		}
		for i := range want.Spec.Volumes {
			want.Spec.Volumes[i].ConfigMap = nil
		}
		for i := range want.Status.Conditions {
			want.Status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		res, ok, _ := p.planned(s, raw, last.Version())
		if !ok || !reflect.DeepEqual((*podObject)(res.Object), want) {
			t.Fatalf("by the plan: %s", cmp.Diff(want, (*podObject)(res.Object)))
		}
		theirs, err := p.official(raw)
		if err != nil || !reflect.DeepEqual((*podObject)(theirs.Object), want) {
			t.Fatalf("by its own decoder: %v, %s", err, cmp.Diff(want, (*podObject)(theirs.Object)))
		}
		last = res
	}
}

func TestIdentityIsFoundWithoutAllocating(t *testing.T) {
	pod := testpods.Large(1, 1, 0, false)
	raw := encode(t, reflect.ValueOf(pod))
	var id Identity
	var ok bool
	if n := testkit.Allocs(10, func() { id, ok = IdentityOf(raw) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	got := fmt.Sprintf("%s %s %s %s", id.Namespace, id.Name, id.UID, id.ResourceVersion)
	if want := fmt.Sprintf("%s %s %s %s", pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion); !ok || got != want {
		t.Errorf("%v %s, not %s", ok, got, want)
	}
	for name, raw := range map[string][]byte{
		"nothing": {}, "metadata twice": append(raw[:len(raw):len(raw)], raw...), "cut": raw[:len(raw)-1], "no metadata": {0x12, 0x00},
		"a name of another type": {0x0a, 0x02, 0x08, 0x01}, "cut inside": {0x0a, 0x02, 0x0a, 0x05},
	} {
		if id, ok := IdentityOf(raw); ok {
			t.Errorf("%s: %+v", name, id)
		}
	}
}
