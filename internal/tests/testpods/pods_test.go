package testpods

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodsAreAsLargeAsRealOnes holds the sizes that figures are quoted for.
func TestPodsAreAsLargeAsRealOnes(t *testing.T) {
	const wantProto, wantJSON = 6300, 9700
	for name, opts := range map[string]Options{
		"500 templates": {}, "own templates": {Templates: 50_000}, "unique": {Unique: true},
	} {
		c := NewCollection(opts)
		var proto, text, created, kubelet int
		const sample = 500
		for k := range sample {
			p := c.Pod(k*c.Len()/sample, k%3)
			b, err := p.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			j, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			proto += len(b)
			text += len(j)
			created += len(fieldsText(p.ManagedFields[0].FieldsV1))
			kubelet += len(fieldsText(p.ManagedFields[1].FieldsV1))
		}
		for _, size := range []struct {
			what      string
			got, want int
		}{
			{"protobuf", proto / sample, wantProto}, {"JSON", text / sample, wantJSON},
			{"the controller manager's fields", created / sample, 1200}, {"the kubelet's fields", kubelet / sample, 700},
		} {
			if diff := size.got - size.want; diff*10 > size.want || -diff*10 > size.want {
				t.Errorf("%s: %s takes %d bytes, not %d within a tenth", name, size.what, size.got, size.want)
			}
			t.Logf("%s: %s %d", name, size.what, size.got)
		}
	}
}

// TestEqualOptionsMakeEqualPods compares two collections.
func TestEqualOptionsMakeEqualPods(t *testing.T) {
	for _, unique := range []bool{false, true} {
		opts := Options{Pods: 300, Unique: unique}
		a, b := NewCollection(opts), NewCollection(opts)
		for i := range a.Len() {
			for round := range 3 {
				if !reflect.DeepEqual(a.Pod(i, round), b.Pod(i, round)) {
					t.Fatalf("pod %d in round %d is not the same twice (unique %t)", i, round, unique)
				}
			}
		}
	}
}

// TestKeysRiseAndWhatMustBeUniqueIs goes through whole collections.
func TestKeysRiseAndWhatMustBeUniqueIs(t *testing.T) {
	for _, opts := range []Options{{Pods: 2000}, {Pods: 777, Templates: 777}, {Pods: 1, Unique: true}, {Pods: 333, Templates: 70, Namespaces: 7}} {
		c := NewCollection(opts)
		seen := map[string]string{}
		last := ""
		for i := range c.Len() {
			p := c.Pod(i, 1)
			key := p.Namespace + "/" + p.Name
			if key <= last {
				t.Fatalf("%v: %s comes after %s", opts, key, last)
			}
			last = key
			for what, s := range map[string]string{
				"UID": string(p.UID), "IP": p.Status.PodIP, "version": p.ResourceVersion,
				"container": p.Status.ContainerStatuses[0].ContainerID, "other container": p.Status.ContainerStatuses[1].ContainerID,
			} {
				if by := seen[s]; by != "" {
					t.Fatalf("%v: %s %s is that of %s and of %s", opts, what, s, by, key)
				}
				seen[s] = key
			}
		}
	}
}

// TestARoundChangesStatusAndTheKubeletsTimeAndNothingElse compares two rounds.
func TestARoundChangesStatusAndTheKubeletsTimeAndNothingElse(t *testing.T) {
	for _, unique := range []bool{false, true} {
		c := NewCollection(Options{Pods: 50, Unique: unique})
		for i := range c.Len() {
			a, b := c.Pod(i, i%2), c.Pod(i, i%2+1)
			if reflect.DeepEqual(a.Status, b.Status) || a.ManagedFields[1].Time.Equal(b.ManagedFields[1].Time) || a.ResourceVersion == b.ResourceVersion {
				t.Fatalf("pod %d does not change", i)
			}
			b.ResourceVersion = a.ResourceVersion
			b.ManagedFields[1].Time = a.ManagedFields[1].Time
			b.Status.Conditions = a.Status.Conditions
			b.Status.ContainerStatuses[0] = a.Status.ContainerStatuses[0]
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("pod %d changes elsewhere (unique %t)", i, unique)
			}
		}
	}
}

// TestUniquePodsHaveNoContentInCommon looks for any run of bytes of one pod's
// spec, labels, status or fields in another's.
func TestUniquePodsHaveNoContentInCommon(t *testing.T) {
	c := NewCollection(Options{Pods: 40, Unique: true})
	seen := map[string]int{}
	for i := range c.Len() {
		p := c.Pod(i, 0)
		for _, s := range contents(p) {
			if by, ok := seen[s]; ok && by != i {
				t.Fatalf("pods %d and %d both have %q", by, i, s)
			}
			seen[s] = i
		}
	}
	if len(seen) < 40*100 {
		t.Errorf("%d different strings in 40 pods", len(seen))
	}
}

// contents are strings of a pod from all over it.
func contents(p *corev1.Pod) []string {
	out := slices.Concat(slices.Collect(maps.Keys(p.Labels)), slices.Collect(maps.Values(p.Labels)),
		slices.Collect(maps.Keys(p.Annotations)), slices.Collect(maps.Values(p.Annotations)),
		[]string{string(p.Spec.RestartPolicy), string(p.Spec.DNSPolicy), p.Spec.SchedulerName, string(p.Status.Phase), p.GenerateName})
	for _, c := range p.Spec.Containers {
		out = append(out, c.Name, c.Image)
		out = append(out, c.Args...)
		for _, e := range c.Env {
			out = append(out, e.Name)
			if e.Value != "" {
				out = append(out, e.Value)
			}
		}
		for name, q := range c.Resources.Limits {
			out = append(out, string(name), q.String())
		}
	}
	for _, v := range p.Spec.Volumes {
		out = append(out, v.Name)
	}
	for _, c := range p.Status.Conditions {
		out = append(out, string(c.Type), string(c.Status))
	}
	for _, m := range p.ManagedFields {
		for f := range strings.SplitSeq(fieldsText(m.FieldsV1), ",") {
			out = append(out, f)
		}
	}
	return out
}
