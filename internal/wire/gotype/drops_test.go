package gotype

import (
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
		_, err := DropsOf(reflect.TypeFor[corev1.Pod](), []string{path})
		var e *PathError
		if !errors.As(err, &e) || e.Path != path || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", path, err, want)
		}
	}
	for _, path := range []string{"spec", "metadata.managedFields", "spec.containers.env", "spec.volumes.configMap.items"} {
		if _, err := DropsOf(reflect.TypeFor[corev1.Pod](), []string{path}); err != nil {
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
	}{{"{name}", false}, {"{value}", false}, {"", false}, {"", true}} {
		inside, whole := d.In(&typ.Fields[i])
		if inside.String() != want.inside || whole != want.whole {
			t.Errorf("%s: %q, %v", typ.Fields[i].Name, inside, whole)
		}
	}
}
