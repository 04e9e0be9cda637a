package gotype

import (
	"cmp"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPathsThatLeadNowhereNameTheNearestField(t *testing.T) {
	for path, want := range map[string]string{
		"metadata.managedfields":       `no field "managedfields" in "metadata"; the nearest is "metadata.managedFields"`,
		"spec.containers.envs":         `no field "envs" in "spec.containers"; the nearest is "spec.containers.env"`,
		"stat":                         `no field "stat"; the nearest is "status"`,
		"metadata.name.first":          `no field "first" in "metadata.name"; the nearest is "metadata.name"`,
		"metadata.creationTimestamp.x": `in "metadata.creationTimestamp"`,
	} {
		_, err := DropsOf(reflect.TypeFor[corev1.Pod](), nil, []string{path})
		var e *PathError
		if !errors.As(err, &e) || e.Path != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{"spec", "metadata.managedFields", "spec.containers.env", "spec.volumes.configMap.items"} {
		if _, err := DropsOf(reflect.TypeFor[corev1.Pod](), nil, []string{path}); err != nil {
			t.Error(err)
		}
	}
}

func TestAPathWithAnEmptyNameIsRefused(t *testing.T) {
	for _, path := range []string{"", ".", "a.", ".a", "a..b"} {
		_, err := NewDrops([]string{"metadata.managedFields", path})
		if e := new(PathError); !errors.As(err, &e) || e.Path != path || !strings.Contains(e.Error(), "empty name") {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestEqualSetsHaveOneString(t *testing.T) {
	set := func(paths ...string) string {
		d, err := NewDrops(paths)
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	if a, b := set("a.b", "c", "a.b.x", "c"), set("c", "a.b"); a != b || a == "" {
		t.Errorf("%q and %q", a, b)
	}
	for _, other := range []string{set("a", "b", "c"), set("a.b.c"), set("ab.c"), set()} {
		if other == set("a.b", "c") {
			t.Error(other)
		}
	}
}

type labels struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type deep struct {
	labels `json:",inline"`
	Map    map[string]labels `json:"map"`
	List   []*labels         `json:"list"`
	Kept   string            `json:"kept"`
}

func TestClearingGoesThroughSlicesPointersMapsAndEmbeddedStructs(t *testing.T) {
	d, err := NewDrops([]string{"name", "map.value", "list.name", "list.value"})
	if err != nil {
		t.Fatal(err)
	}
	l := labels{"n", "v"}
	got := deep{labels: l, Map: map[string]labels{"a": l}, List: []*labels{{"n", "v"}, nil}, Kept: "k"}
	d.Clear(reflect.ValueOf(&got))
	want := deep{labels: labels{"", "v"}, Map: map[string]labels{"a": {"n", ""}}, List: []*labels{{}, nil}, Kept: "k"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	untyped := map[string]any{
		"name": "n", "value": "v", "kept": "k", "map": map[string]any{"value": "v", "a": int64(1)},
		"list": []any{map[string]any{"name": "n", "x": "y"}, "text"},
	}
	d.ClearUntyped(untyped)
	if !reflect.DeepEqual(untyped, map[string]any{
		"value": "v", "kept": "k", "map": map[string]any{"a": int64(1)}, "list": []any{map[string]any{"x": "y"}, "text"},
	}) {
		t.Error(untyped)
	}
}

// The fields of an embedded struct are exported, even if its name is not.
func TestWhatIsEmbeddedUnderANameIsClearedAndFilledAsAWhole(t *testing.T) {
	type object struct {
		Spec struct {
			labels `json:"labels"`
			Kept   string `json:"kept"`
		} `json:"spec"`
	}
	var got object
	got.Spec.labels, got.Spec.Kept = labels{"n", "v"}, "k"
	for _, path := range []string{"spec.labels", "spec"} {
		d, err := NewDrops([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		if d.Fill(reflect.ValueOf(&got)); got.Spec.Name != LeftOut || got.Spec.Value != LeftOut {
			t.Errorf("%s: %+v", path, got)
		}
		if d.Clear(reflect.ValueOf(&got)); got.Spec.labels != (labels{}) || (got.Spec.Kept == "") != (path == "spec") {
			t.Errorf("%s: %+v", path, got)
		}
		if read := d.Reads(reflect.TypeFor[object](), func(obj any) any { return obj.(*object).Spec.Value }); read == "" {
			t.Errorf("%s: an index by what is left out is not found", path)
		}
	}
}

// A decoder that goes field by field drops what Clear would.
func TestAFieldOfAStructIsFoundByItsName(t *testing.T) {
	d, err := NewDrops([]string{"name", "map.value", "kept"})
	if err != nil {
		t.Fatal(err)
	}
	typ := of(t, reflect.TypeFor[deep]())
	for i, want := range []struct {
		inside string
		whole  bool
	}{{"name", false}, {"value", false}, {"", false}, {"", true}} {
		inside, whole := d.In(&typ.Fields[i])
		if (inside != nil) != (want.inside != "") || want.inside != "" && !inside.Has(want.inside) || whole != want.whole {
			t.Errorf("%s: %q, %v", typ.Fields[i].Name, inside, whole)
		}
	}
}

func TestWhatEveryObjectNeedsIsKept(t *testing.T) {
	for keep, want := range map[string]string{
		"spec.nodename":     `cannot keep "spec.nodename" of v1.Pod: no field "nodename" in "spec"; the nearest is "spec.nodeName"`,
		"spec.nodeName.x":   `no field "x" in "spec.nodeName"`,
		"metadata..labels":  `cannot keep "metadata..labels": it has an empty name in it`,
		"metadata.labels.a": `no field "a" in "metadata.labels"`,
	} {
		if _, err := DropsOf(reflect.TypeFor[corev1.Pod](), []string{keep}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("keep %q: %v, want %s", keep, err, want)
		}
	}
	for _, path := range []string{"metadata", "kind", "metadata.labels", "metadata.ownerReferences.controller"} {
		if _, err := DropsOf(reflect.TypeFor[corev1.Pod](), nil, []string{path}); err == nil || !strings.Contains(err.Error(), "every object needs its") {
			t.Errorf("drop %q: %v", path, err)
		}
	}
	if _, err := DropsOf(reflect.TypeFor[corev1.PodSpec](), []string{"nodeName"}, nil); err == nil || !strings.Contains(err.Error(), "no metav1.ObjectMeta") {
		t.Error(err)
	}
	d, err := DropsOf(reflect.TypeFor[corev1.Pod](), []string{"spec.nodeName"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range always {
		if d.Has(strings.Split(path, ".")...) {
			t.Errorf("%s is dropped", path)
		}
	}
	for _, path := range []string{"status", "spec.containers", "metadata.annotations", "metadata.managedFields", "metadata.selfLink"} {
		if !d.Has(strings.Split(path, ".")...) {
			t.Errorf("%s is kept", path)
		}
	}
}

func TestAnIndexOfWhatIsDroppedIsFound(t *testing.T) {
	typ := reflect.TypeFor[corev1.Pod]()
	node := func(p *corev1.Pod) any { return p.Spec.NodeName }
	calls := 0
	for _, c := range []struct {
		keep, drop []string
		index      func(*corev1.Pod) any
		want       string
	}{
		{nil, nil, node, ""},
		{[]string{"spec.nodeName"}, nil, node, ""},
		{[]string{"spec"}, nil, node, ""},
		{[]string{"status.phase"}, nil, node, "spec.nodeName"},
		{nil, []string{"spec"}, node, "spec.nodeName"},
		{nil, []string{"spec.nodeName"}, node, "spec.nodeName"},
		{[]string{"spec.nodeName"}, nil, func(p *corev1.Pod) any { return p.Labels }, ""},
		{[]string{"spec.nodeName"}, nil, func(p *corev1.Pod) any { return p.Name + p.Namespace + string(p.UID) }, ""},
		{[]string{"spec.nodeName"}, nil, func(p *corev1.Pod) any { return p.Spec.Containers[0].Env[0].Name }, "spec.containers.env.name"},
		{[]string{"spec.containers.name"}, nil, func(p *corev1.Pod) any { return p.Spec.Containers[0].Image }, "spec.containers.image"},
		{[]string{"spec.nodeName"}, nil, func(p *corev1.Pod) any { return len(p.Status.PodIPs) }, "status.podIPs"},
		{[]string{"metadata"}, nil, func(p *corev1.Pod) any { return cmp.Or(p.Spec.NodeName, p.Status.HostIP) }, "something"},
		{[]string{"status.phase"}, nil, func(p *corev1.Pod) any {
			if p.DeletionTimestamp != nil {
				return nil
			}
			return p.Spec.NodeName
		}, "spec.nodeName"},
		{[]string{"status.phase"}, nil, func(p *corev1.Pod) any { calls++; return calls }, ""},
		{[]string{"spec.nodeName"}, nil, func(p *corev1.Pod) any { return p.Namespace + p.Annotations["1"] }, "metadata.annotations"},
		{[]string{"spec.nodeName"}, nil, func(p *corev1.Pod) any { return p.CreationTimestamp.Unix() }, "metadata.creationTimestamp"},
	} {
		d, err := DropsOf(typ, c.keep, c.drop)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Reads(typ, func(obj any) any { return c.index(obj.(*corev1.Pod)) }); got != c.want {
			t.Errorf("keep %v, drop %v: reads %q, want %q", c.keep, c.drop, got, c.want)
		}
	}
}
