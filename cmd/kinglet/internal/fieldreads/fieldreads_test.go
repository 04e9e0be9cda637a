package fieldreads

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads/testdata/hard"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads/testdata/nested"
	"github.com/kinglet-go/kinglet/source"
)

func TestTheFieldsThatAProgramReadsOrSetsAreFound(t *testing.T) {
	found, err := Of(t.Context(), Options{Patterns: []string{"./testdata/program"}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"k8s.io/api/apps/v1.Deployment": {
			"metadata.annotations", "spec.replicas", "spec.selector", "spec.strategy", "spec.template.spec.containers.image", "spec.template.spec.nodeName", "spec.template.spec.nodeSelector",
		},
		"k8s.io/api/core/v1.Pod": {
			"metadata.annotations", "spec.containers.image", "spec.nodeName", "spec.nodeSelector",
			"status.conditions", "status.phase", "status.qosClass", "status.startTime",
		},
		"k8s.io/api/networking/v1.Ingress": {"spec.defaultBackend.service.port", "spec.rules.host"},
	}
	got := map[string][]string{}
	for _, k := range found.Kinds {
		got[k.Package+"."+k.Name] = k.Paths
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("found %q\nwant %q", got, want)
	}
	var places []string
	for _, k := range found.Kinds {
		for _, e := range k.Escapes {
			places = append(places, fmt.Sprintf("%s:%d %s to %s", filepath.Base(e.Position.Filename), e.Position.Line, k.Name, e.To))
		}
	}
	if got, want := strings.Join(places, ", "), "program.go:58 Ingress to encoding/json.Marshal"; got != want {
		t.Errorf("passed on: %s\nwant %s", got, want)
	}
}

// Each kind is read in one way that is easily overlooked.
func TestFieldsThatAreReadInUnusualWaysAreFound(t *testing.T) {
	for program, want := range map[string]map[string]string{
		"hard": {
			"CSIDriver":                      "passed on as any",
			"CSINode":                        "passed on as any",
			"ClusterRole":                    "passed on to encoding/json.Marshal",
			"ClusterRoleBinding":             "subjects",
			"CronJob":                        "spec.jobTemplate.spec",
			"Deployment":                     "spec.template",
			"Endpoints":                      "subsets.ports.name",
			"EndpointSlice":                  "endpoints.targetRef",
			"Event":                          "metadata.creationTimestamp",
			"Flat":                           "name selector",
			"Generic":                        "spec",
			"HorizontalPodAutoscaler":        "passed on to (*text/template.Template).Execute passed on as any",
			"IngressClass":                   "spec.parameters",
			"Job":                            "spec",
			"Lease":                          "passed on to encoding/json.Marshal",
			"LimitRange":                     "spec.limits.default",
			"MutatingWebhookConfiguration":   "passed on as any",
			"NetworkPolicy":                  "passed on to slices.Clip",
			"Node":                           "spec.taints.key status.addresses.address",
			"PersistentVolume":               "spec",
			"PodDisruptionBudget":            "passed on to marshal",
			"PodTemplate":                    "passed on as T",
			"PriorityClass":                  "passed on to encode",
			"Promoted":                       "settings",
			"ReplicaSet":                     "passed on to k8s.io/apimachinery/pkg/api/meta.AsPartialObjectMetadata",
			"Role":                           "passed on to encoding/json.Marshal",
			"RoleBinding":                    "passed on to encoding/json.Marshal",
			"RuntimeClass":                   "passed on to print",
			"Service":                        "spec.ports.targetPort",
			"ServiceAccount":                 "automountServiceAccountToken",
			"StatefulSet":                    "passed on to hard.dump",
			"StorageClass":                   "passed on as T passed on as T",
			"Tree":                           "spec.children spec.value",
			"Unnamed":                        "spec",
			"ValidatingWebhookConfiguration": "passed on as any",
			"VolumeAttachment":               "passed on as any",
		},
		"metadata": {
			"Deployment":  "metadata.annotations metadata.generateName metadata.selfLink spec.paused",
			"Pod":         "metadata.annotations metadata.generateName metadata.selfLink",
			"StatefulSet": "metadata.annotations metadata.generateName metadata.selfLink spec.template",
		},
		"nested": {
			"PersistentVolumeClaim": "metadata.annotations spec.storageClassName",
			"Pod":                   "metadata.annotations",
			"Wider":                 "extra metadata.annotations",
			"StatefulSet": "metadata.annotations spec.volumeClaimTemplates.metadata.annotations spec.volumeClaimTemplates.metadata.deletionGracePeriodSeconds spec.volumeClaimTemplates.metadata.deletionTimestamp " +
				"spec.volumeClaimTemplates.metadata.finalizers spec.volumeClaimTemplates.metadata.generation spec.volumeClaimTemplates.metadata.labels " +
				"spec.volumeClaimTemplates.metadata.name spec.volumeClaimTemplates.metadata.namespace spec.volumeClaimTemplates.metadata.ownerReferences " +
				"spec.volumeClaimTemplates.metadata.resourceVersion spec.volumeClaimTemplates.metadata.uid spec.volumeClaimTemplates.spec.storageClassName",
		},
		"foreign": {
			"Deployment":            "metadata.annotations metadata.creationTimestamp",
			"PartialObjectMetadata": "metadata.annotations metadata.creationTimestamp",
		},
		"parts": {
			"Based":                          "metadata.annotations spec",
			"CronJob":                        "spec.jobTemplate.spec",
			"DaemonSet":                      "spec.template",
			"Deployment":                     "spec.template",
			"EndpointSlice":                  "ports",
			"Endpoints":                      "subsets",
			"Event":                          "involvedObject",
			"HorizontalPodAutoscaler":        "spec.scaleTargetRef",
			"Ingress":                        "spec.rules",
			"Job":                            "spec",
			"Lease":                          "passed on to fmt.Println",
			"LimitRange":                     "passed on as any",
			"PodDisruptionBudget":            "metadata",
			"PriorityClass":                  "passed on as any",
			"Role":                           "passed on as any",
			"RoleBinding":                    "roleRef",
			"RuntimeClass":                   "passed on as any",
			"Service":                        "spec.ports",
			"StorageClass":                   "passed on as any",
			"ValidatingWebhookConfiguration": "passed on as any",
			"base":                           "metadata.annotations",
		},
		"handed": {
			"Deployment":          "passed on to handed/lib.Call",
			"Job":                 "passed on to handed/lib.Read",
			"Node":                "passed on to handed/lib.Nodes",
			"Pod":                 "passed on to handed/lib.Count",
			"PodDisruptionBudget": "passed on to (handed/lib.Calls).Run",
			"Service":             "passed on to handed/lib.Current",
			"StorageClass":        "passed on to handed/lib.Held",
		},
		"generic/...": {
			"ConfigMap":   "passed on as T passed on as generic.maps",
			"DaemonSet":   "passed on as T",
			"Deployment":  "passed on as T",
			"Job":         "passed on as any",
			"Lease":       "passed on as any",
			"Node":        "passed on as T",
			"Pod":         "spec.nodeName passed on as T",
			"Secret":      "passed on as T",
			"Service":     "passed on as T",
			"StatefulSet": "passed on as T",
		},
		"predicate": {"Deployment": "metadata.annotations"},
	} {
		found, err := Of(t.Context(), Options{Patterns: []string{"./testdata/" + program}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, k := range found.Kinds {
			what := slices.Clone(k.Paths)
			for _, e := range k.Escapes {
				what = append(what, strings.ReplaceAll("passed on to "+strings.Replace(e.To, "github.com/kinglet-go/kinglet/cmd/kinglet/internal/fieldreads/testdata/", "", 1), "to as ", "as "))
			}
			got[k.Name] = strings.Join(what, " ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", program, diff)
		}
	}
}

// A source accepts every path that is printed.
func TestWhatIsFoundIsAKeep(t *testing.T) {
	found, err := Of(t.Context(), Options{Patterns: []string{"./testdata/program", "./testdata/hard", "./testdata/metadata", "./testdata/nested"}})
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
	add("PartialObjectMetadata", &metav1.PartialObjectMetadata{})
	add("Unnamed", &hard.Unnamed{})
	add("Generic", &hard.Generic[struct{ A string }]{})
	add("Tree", &hard.Tree{})
	add("Flat", &hard.Flat{})
	add("Promoted", &hard.Promoted{})
	add("Wider", &nested.Wider{})
	for _, k := range found.Kinds {
		example := examples[k.Package+"."+k.Name]
		if err := (source.Options{Keep: k.Paths}).CheckFields(example); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNotLookedAtIsNamed(t *testing.T) {
	found, err := Of(t.Context(), Options{Patterns: []string{"./testdata/notfollowed"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Excluded) != 1 || filepath.Base(found.Excluded[0]) != "tagged.go" {
		t.Errorf("excluded: %q", found.Excluded)
	}
	if len(found.Unstructured) != 1 || found.Unstructured[0].Line != 12 || len(found.Kinds) > 0 || len(found.Interfaces) != 2 || found.Interfaces[0].To != "reflect.DeepEqual" {
		t.Errorf("found %+v", found)
	}
}

func TestAPackageThatDoesNotCompileIsAnError(t *testing.T) {
	if _, err := Of(t.Context(), Options{Patterns: []string{"./testdata/none"}}); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
}
