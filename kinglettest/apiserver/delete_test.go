package apiserver_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// Typed clients, client-go's and controller-runtime's, send the options of a delete in the group
// and version of the resource.
func TestDeleteOptionsAreReadInAnyGroup(t *testing.T) {
	types := runtime.NewScheme()
	if err := scheme.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	custom := schema.GroupVersion{Group: "example.com", Version: "stable"}
	metav1.AddToGroupVersion(types, custom)
	groups := 0
	for gvk := range types.AllKnownTypes() {
		if gvk.Kind == "DeleteOptions" && gvk.Version != runtime.APIVersionInternal {
			groups++
			deleteIn(t, types, gvk.GroupVersion())
		}
	}
	if groups < 40 {
		t.Fatalf("%d groups and versions", groups)
	}
}

func deleteIn(t *testing.T, types *runtime.Scheme, gv schema.GroupVersion) {
	r := apiserver.Resource{GroupVersionResource: gv.WithResource("widgets"), Kind: "Widget"}
	storage := apiserver.NewStorage(r)
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	config := server.Config()
	config.GroupVersion, config.APIPath = &gv, "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": gv.String(), "kind": "Widget", "metadata": map[string]any{"namespace": "ns", "name": "a"}}}
	for _, config.ContentType = range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		client, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"a", ""} {
			if _, err := storage.Create(obj); err != nil {
				t.Fatal(err)
			}
			remove := func(options metav1.DeleteOptions, want int) {
				err := client.Delete().AbsPath(config.APIPath, gv.Group, gv.Version, "namespaces/ns/widgets", path).Body(&options).Do(t.Context()).Error()
				if left, _ := storage.List(r.GroupResource()); err != nil || len(left) != want {
					t.Errorf("%s, %s: %v, %d left", gv, config.ContentType, err, len(left))
				}
			}
			remove(metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, 1)
			remove(metav1.DeleteOptions{}, 0)
		}
	}
}
