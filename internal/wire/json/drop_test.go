package json

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
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
		if _, err := gotype.DropsOf(k.typ, []string{"spec.template.spec.containers.env"}); err == nil {
			dropped = append(dropped, "spec.template.spec.containers.env", "spec.template.metadata")
		}
		p, err := Compile(k.typ, drops(t, dropped...))
		if err != nil {
			t.Fatal(err)
		}
		s := share.NewSession(table)
		object := k.fresh(f)
		var last share.Result
		for range 4 * *objects {
			raw := encode(t, object)
			// The same objects with all their fields go through the same table.
			k.plan.mustEqual(t, s, raw, share.Version{})
			for range 2 {
				got, _, err := p.Decode(s, raw, last.Version())
				if err != nil {
					t.Fatal(err)
				}
				want, _, _, err := k.plan.reference(raw)
				if err != nil {
					t.Fatal(err)
				}
				p.drops.Clear(want)
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
	same, _, err := p.Decode(s, encodePod(t, pod), r.Version())
	if err != nil || !same.Same {
		t.Errorf("a change in what is dropped is a change: %v", err)
	}
}

func drops(t testing.TB, paths ...string) *gotype.Drops {
	d, err := gotype.NewDrops(paths)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func typeOf(typ reflect.Type) *gotype.Type {
	t, err := gotype.Of(typ)
	if err != nil {
		panic(err)
	}
	return t
}

func members(p *Plan) []gotype.Member { return slices.Clone(typeOf(p.root.typ).Members()) }
