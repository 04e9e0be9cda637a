package json

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

func TestDroppedFieldsAreZeroAndTheRestIsWhatItWas(t *testing.T) {
	r := newRand(t)
	f := newFiller(r)
	table := share.NewTable(0)
	for _, k := range compileKinds() {
		if _, ok := k.typ.FieldByName("ObjectMeta"); !ok {
			continue
		}
		dropped := []string{"metadata.managedFields", "metadata.labels"}
		if checkDrop(k.typ, "spec.template.spec.containers.env") == nil {
			dropped = append(dropped, "spec.template.spec.containers.env", "spec.template.metadata")
		}
		p, err := Compile(k.typ, dropped)
		if err != nil {
			t.Fatal(err)
		}
		s := share.NewSession(table)
		object := k.fresh(f)
		var last Result
		for range 4 * *objects {
			raw := encode(t, object)
			// The same objects with all their fields go through the same table.
			k.plan.mustEqual(t, s, raw, share.Version{})
			for range 2 {
				got, _, err := p.Decode(s, raw, last.held())
				if err != nil {
					t.Fatal(err)
				}
				want, _, _, err := k.plan.reference(raw)
				if err != nil {
					t.Fatal(err)
				}
				clearDropped(want, p.drops)
				if !reflect.DeepEqual(p.value(got).Interface(), want.Interface()) {
					t.Fatalf("%v:\n%s\n got %s\nwant %s", k.gvk, raw, spell(p.value(got)), spell(want))
				}
				last = got
			}
			change(r, f, object.Elem())
			k.name(object)
		}
	}
}

func TestClearingGoesThroughSlicesPointersAndMaps(t *testing.T) {
	var pod corev1.Pod
	if err := utiljson.Unmarshal(encodePod(t, newPodSource(false).pod(1)), &pod); err != nil {
		t.Fatal(err)
	}
	clearDropped(reflect.ValueOf(&pod), newDrops([]string{
		"metadata.managedFields", "spec.containers.env", "spec.containers.livenessProbe.httpGet.port", "spec.volumes", "spec.volumes.name",
	}))
	for _, c := range pod.Spec.Containers {
		if c.Env != nil || c.LivenessProbe.HTTPGet.Port.IntVal != 0 || c.LivenessProbe.HTTPGet.Path == "" || c.ReadinessProbe.HTTPGet.Port.IntVal == 0 {
			t.Errorf("%+v", c)
		}
	}
	if pod.ManagedFields != nil || pod.Spec.Volumes != nil || pod.Labels == nil {
		t.Error("dropped too little or too much")
	}
}

func TestPathsThatLeadNowhereNameTheNearestField(t *testing.T) {
	for path, want := range map[string]string{
		"metadata.managedfields":       `no field "managedfields" in "metadata"; the nearest is "metadata.managedFields"`,
		"spec.containers.envs":         `no field "envs" in "spec.containers"; the nearest is "spec.containers.env"`,
		"stat":                         `no field "stat"; the nearest is "status"`,
		"metadata.name.first":          `no field "first" in "metadata.name"; the nearest is "metadata.name"`,
		"metadata.creationTimestamp.x": `in "metadata.creationTimestamp"`,
		"":                             `no field ""`,
	} {
		_, err := Compile(reflect.TypeFor[corev1.Pod](), []string{"spec.containers.env", path})
		var e *PathError
		if !errors.As(err, &e) || e.Path != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
}

func TestDroppedBytesCostNothingWhileTheyStayTheSame(t *testing.T) {
	p := podPlan(t, "metadata.managedFields", "spec")
	s := share.NewSession(share.NewTable(0))
	source := newPodSource(false)
	pod := source.pod(1)
	r, _, err := p.Decode(s, encodePod(t, pod), share.Version{})
	if err != nil {
		t.Fatal(err)
	}
	got := (*corev1.Pod)(r.Object)
	if got.ManagedFields != nil || got.Spec.Containers != nil || got.Name != pod.Name || got.Status.PodIP != pod.Status.PodIP {
		t.Errorf("%+v", got)
	}
	pod.ManagedFields[0].Manager = "somebody else"
	same, _, err := p.Decode(s, encodePod(t, pod), r.held())
	if err != nil || !same.Same {
		t.Errorf("a change in what is dropped is a change: %v", err)
	}
}
