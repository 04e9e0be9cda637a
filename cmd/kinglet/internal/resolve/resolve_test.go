package resolve

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery/cached/memory"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/restmapper"
	clienttesting "k8s.io/client-go/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func all() metav1.Verbs { return metav1.Verbs{"get", "list", "watch"} }

// cluster is a server with a few built-in resources, a custom one, one name
// in two groups, and something that cannot be watched.
func cluster() (*Resolver, *clienttesting.Fake) {
	fake := &clienttesting.Fake{Resources: []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Categories: []string{"all"}, Verbs: all()},
			{Name: "pods/log", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
			{Name: "nodes", SingularName: "node", Kind: "Node", ShortNames: []string{"no"}, Verbs: all()},
			{Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"}, Verbs: all()},
			{Name: "bindings", SingularName: "binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"}, Categories: []string{"all"}, Verbs: all()},
		}},
		{GroupVersion: "events.k8s.io/v1", APIResources: []metav1.APIResource{
			{Name: "events", SingularName: "event", Kind: "Event", Namespaced: true, ShortNames: []string{"ev"}, Verbs: all()},
		}},
		{GroupVersion: "example.com/v1alpha1", APIResources: []metav1.APIResource{
			{Name: "widgets", SingularName: "widget", Kind: "Widget", Namespaced: true, ShortNames: []string{"wd"}, Categories: []string{"all"}, Verbs: all()},
		}},
		{GroupVersion: "metrics.k8s.io/v1beta1", APIResources: []metav1.APIResource{
			{Name: "nodemetrics", SingularName: "", Kind: "NodeMetrics", Categories: []string{"all"}, Verbs: metav1.Verbs{"get", "list"}},
		}},
	}}
	discovery := memory.NewMemCacheClient(&fakediscovery.FakeDiscovery{Fake: fake})
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(discovery), discovery, nil)
	return &Resolver{Mapper: mapper, Discovery: discovery}, fake
}

func TestNamesAreFoundAsKubectlFindsThem(t *testing.T) {
	r, _ := cluster()
	for name, want := range map[string]string{
		"pods":                         "/v1/pods ns",
		"pod":                          "/v1/pods ns",
		"po":                           "/v1/pods ns",
		"Pod":                          "/v1/pods ns",
		"PODS":                         "/v1/pods ns",
		"no":                           "/v1/nodes",
		"deploy":                       "apps/v1/deployments ns",
		"deployments.apps":             "apps/v1/deployments ns",
		"deployments.v1.apps":          "apps/v1/deployments ns",
		"deployment.apps":              "apps/v1/deployments ns",
		"Deployment.v1.apps":           "apps/v1/deployments ns",
		"widgets":                      "example.com/v1alpha1/widgets ns",
		"wd":                           "example.com/v1alpha1/widgets ns",
		"widgets.example.com":          "example.com/v1alpha1/widgets ns",
		"events":                       "/v1/events ns",
		"events.events.k8s.io":         "events.k8s.io/v1/events ns",
		"widgets.v1alpha1.example.com": "example.com/v1alpha1/widgets ns",
	} {
		t.Run(name, func(t *testing.T) {
			found, errs := r.Resolve([]string{name})
			if len(errs) > 0 || len(found) != 1 {
				t.Fatalf("got %v, errors %v", found, errs)
			}
			got := found[0].GVR.Group + "/" + found[0].GVR.Version + "/" + found[0].GVR.Resource
			if found[0].Namespaced {
				got += " ns"
			}
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestACategoryStandsForItsMembersThatCanBeWatched(t *testing.T) {
	r, _ := cluster()
	found, errs := r.Resolve([]string{"all"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	names := ShortestNames(found)
	slices.Sort(names)
	if got, want := strings.Join(names, " "), "deployments pods widgets"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAResourceIsWatchedOnceUnderWhateverNamesItIsGiven(t *testing.T) {
	r, _ := cluster()
	found, errs := r.Resolve([]string{"pods", "po", "all", "Pod"})
	if len(errs) > 0 || len(found) != 3 {
		t.Fatalf("got %v, errors %v", found, errs)
	}
}

func TestAnUnknownNameIsAnErrorOfItsOwnAndTheOthersAreFound(t *testing.T) {
	r, _ := cluster()
	found, errs := r.Resolve([]string{"pods", "deploymnets", "nonsense", "bindings", "nodes"})
	if got, want := strings.Join(ShortestNames(found), " "), "pods nodes"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	want := []string{
		`the server doesn't have a resource type "deploymnets"; did you mean deployments.apps?`,
		`the server doesn't have a resource type "nonsense"; see: kubectl api-resources`,
		`bindings: this resource cannot be watched, it does not support list and watch`,
	}
	if len(errs) != len(want) {
		t.Fatalf("got errors %v", errs)
	}
	for i := range want {
		if errs[i].Error() != want[i] {
			t.Errorf("\n got %s\nwant %s", errs[i], want[i])
		}
	}
}

func TestAnErrorOfDiscoveryComesAloneAndUnchanged(t *testing.T) {
	r, fake := cluster()
	refused := apierrors.NewUnauthorized("who are you")
	fake.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	found, errs := r.Resolve([]string{"pods", "nodes"})
	if len(found) != 0 || len(errs) != 1 || !errors.Is(errs[0], refused) {
		t.Fatalf("got %v, errors %v", found, errs)
	}
}

func TestResourcesOfOneNameAreToldApartByTheirGroup(t *testing.T) {
	r, _ := cluster()
	found, errs := r.Resolve([]string{"pods", "events", "events.events.k8s.io"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if got, want := strings.Join(ShortestNames(found), " "), "pods events events.events.k8s.io"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCompletionOffersWhatCanBeWatched(t *testing.T) {
	r, _ := cluster()
	names, err := r.Names()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(names, " "), "deployments.apps events events.events.k8s.io nodes pods widgets.example.com"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestArgumentsAreOneListAndOtherHabitsAreToldHow(t *testing.T) {
	for _, c := range []struct {
		args  []string
		names []string
		want  string
	}{
		{args: []string{"pods"}, names: []string{"pods"}},
		{args: []string{"pods,deployments.apps"}, names: []string{"pods", "deployments.apps"}},
		{args: []string{"pods, nodes"}, names: []string{"pods", "nodes"}},
		{args: nil, want: "kinglet watch pods,deployments"},
		{args: []string{"pods", "deployments"}, want: "kinglet watch pods,deployments;"},
		{args: []string{"pods", "web-0"}, want: "kinglet watch pods --field-selector metadata.name=web-0"},
		{args: []string{"pods,", "nodes"}, want: "kinglet watch pods,nodes"},
		{args: []string{"pods", ",nodes"}, want: "kinglet watch pods,nodes"},
		{args: []string{"pods/web-0"}, want: "kinglet watch pods --field-selector metadata.name=web-0"},
		{args: []string{"pods,,nodes"}, want: "empty name"},
		{args: []string{""}, want: "empty name"},
	} {
		names, err := Split(c.args)
		if c.want == "" {
			if err != nil || !slices.Equal(names, c.names) {
				t.Errorf("%q: got %q, %v", c.args, names, err)
			}
			continue
		}
		if _, typed := errors.AsType[*ArgumentError](err); !typed || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an *ArgumentError with %q", c.args, err, c.want)
		}
	}
}
