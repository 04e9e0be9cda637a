package fieldreads

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads/testdata/hard"
	"github.com/kinglet-go/kinglet/source"
)

func TestTheFieldsThatAProgramReadsAreFound(t *testing.T) {
	kinds, err := Of(t.Context(), Options{Patterns: []string{"./testdata/program"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"k8s.io/api/apps/v1.Deployment": {"spec.selector", "spec.strategy"},
		"k8s.io/api/core/v1.Pod": {
			"metadata.annotations", "spec.containers.image", "spec.nodeName", "spec.nodeSelector",
			"status.conditions", "status.qosClass", "status.startTime",
		},
		"k8s.io/api/networking/v1.Ingress": {"spec.defaultBackend.service.port", "spec.rules.host"},
	}
	got := map[string][]string{}
	for _, k := range kinds {
		got[k.Package+"."+k.Name] = k.Paths
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %q\nwant %q", got, want)
	}
	var places []string
	for _, k := range kinds {
		for _, e := range k.Escapes {
			places = append(places, fmt.Sprintf("%s:%d %s to %s", filepath.Base(e.Position.Filename), e.Position.Line, k.Name, e.To))
		}
	}
	if got, want := strings.Join(places, ", "), "program.go:57 Ingress to encoding/json.Marshal"; got != want {
		t.Errorf("passed on: %s\nwant %s", got, want)
	}
}

// The kinds of the second program are each read in one way that is easily overlooked.
func TestFieldsThatAreReadInUnusualWaysAreFound(t *testing.T) {
	kinds, err := Of(t.Context(), Options{Patterns: []string{"./testdata/hard"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Event":            "metadata.creationTimestamp",
		"Flat":             "name selector",
		"Generic":          "spec",
		"Node":             "spec.taints.key status.addresses.address",
		"PersistentVolume": "spec",
		"Service":          "spec.ports.targetPort",
		"Tree":             "spec.children spec.value",
		"Unnamed":          "spec",
	}
	got := map[string]string{}
	for _, k := range kinds {
		text := strings.Join(k.Paths, " ")
		for _, e := range k.Escapes {
			text += " passed on to " + e.To
		}
		got[k.Name] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is printed can be used.
func TestWhatIsFoundIsAKeep(t *testing.T) {
	kinds, err := Of(t.Context(), Options{Patterns: []string{"./testdata/program", "./testdata/hard"}})
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]any{}
	add := func(name string, example any) {
		examples[reflect.TypeOf(example).Elem().PkgPath()+"."+name] = example
	}
	for _, typ := range scheme.Scheme.AllKnownTypes() {
		add(typ.Name(), reflect.New(typ).Interface())
	}
	add("Unnamed", &hard.Unnamed{})
	add("Generic", &hard.Generic[struct{ A string }]{})
	add("Tree", &hard.Tree{})
	add("Flat", &hard.Flat{})
	for _, k := range kinds {
		example := examples[k.Package+"."+k.Name]
		if err := (source.Options{Keep: k.Paths}).CheckFields(example); err != nil {
			t.Error(err)
		}
	}
}

func TestAPackageThatDoesNotCompileIsAnError(t *testing.T) {
	if _, err := Of(t.Context(), Options{Patterns: []string{"./testdata/none"}}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
}
