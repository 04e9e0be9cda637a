package fieldreads

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

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

// What is printed can be used.
func TestWhatIsFoundIsAKeep(t *testing.T) {
	kinds, err := Of(t.Context(), Options{Patterns: []string{"./testdata/program"}})
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]any{"Deployment": &appsv1.Deployment{}, "Pod": &corev1.Pod{}, "Ingress": &networkingv1.Ingress{}}
	for _, k := range kinds {
		if err := (source.Options{Keep: k.Paths}).CheckFields(examples[k.Name]); err != nil {
			t.Error(err)
		}
	}
}

func TestAPackageThatDoesNotCompileIsAnError(t *testing.T) {
	if _, err := Of(t.Context(), Options{Patterns: []string{"./testdata/none"}}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
}
