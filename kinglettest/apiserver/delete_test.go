package apiserver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// Package e2e compares each kind with a real server's.
func TestADeleteIsAnsweredWithAStatusUnlessTheObjectRemainsOrItsKindReturnsIt(t *testing.T) {
	custom := apiserver.Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "services"}, Kind: "Service"}
	storage := apiserver.NewStorage(apiserver.Pods, apiserver.ConfigMaps, custom)
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	named := metav1.ObjectMeta{Namespace: "ns", Name: "a"}
	held := named
	held.Finalizers = []string{"example.com/f"}
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Service", "metadata": map[string]any{"namespace": "ns", "name": "a"}}}
	metadata := runtime.ContentTypeJSON + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for _, test := range []struct {
		obj                runtime.Object
		path, accept, want string
	}{
		{&corev1.Pod{ObjectMeta: named}, "/api/v1/namespaces/ns/pods/a", "", `{"kind":"Pod",`},
		{&corev1.Pod{ObjectMeta: named}, "/api/v1/namespaces/ns/pods/a", metadata, `{"kind":"PartialObjectMetadata",`},
		{&corev1.ConfigMap{ObjectMeta: named}, "/api/v1/namespaces/ns/configmaps/a", "", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"a","kind":"configmaps","uid":"`},
		{&corev1.ConfigMap{ObjectMeta: named}, "/api/v1/namespaces/ns/configmaps/a", metadata, `{"kind":"Status",`},
		{&corev1.ConfigMap{ObjectMeta: named}, "/api/v1/namespaces/ns/configmaps/a", runtime.ContentTypeProtobuf, "k8s\x00\n\f\n\x02v1\x12\x06Status"},
		{service, "/apis/example.com/v1/namespaces/ns/services/a", "", `"details":{"name":"a","group":"example.com","kind":"services","uid":"`},
		{&corev1.ConfigMap{ObjectMeta: held}, "/api/v1/namespaces/ns/configmaps/a", "", `{"kind":"ConfigMap",`},
	} {
		if _, err := storage.Create(test.obj); err != nil {
			t.Fatal(err)
		}
		for _, query := range []string{"?dryRun=All", ""} {
			r := httptest.NewRequest(http.MethodDelete, test.path+query, nil)
			r.Header.Set("Accept", test.accept)
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%s%s, %s: %d %q", test.path, query, test.accept, w.Code, w.Body)
			}
		}
	}
}
