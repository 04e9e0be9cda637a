package apiserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const configs = "/api/v1/namespaces/ns/configmaps"

// /status of most kinds changes metadata, too.
func TestStatusChangesTheMetadataThatItsKindDoesNotGuard(t *testing.T) {
	for _, c := range []struct {
		kind           string
		labels, owners int
	}{{"Deployment", 0, 1}, {"ReplicaSet", 1, 1}} {
		r := resourceOf(appsv1.SchemeGroupVersion, c.kind)
		old, obj := r.newObject(), r.newObject()
		m := metaOf(obj)
		m.SetLabels(map[string]string{"l": "x"})
		m.SetOwnerReferences([]metav1.OwnerReference{{UID: "u"}})
		if r.keepDesired(obj, old); len(m.GetLabels()) != c.labels || len(m.GetOwnerReferences()) != c.owners {
			t.Errorf("%s: labels %v, owners %v", c.kind, m.GetLabels(), m.GetOwnerReferences())
		}
	}
}

func TestAGetWithAVersionIsAnsweredFromAServerThatIsBehind(t *testing.T) {
	storage := NewStorage(ConfigMaps)
	server := New(storage, Options{})
	defer server.Close()
	server.Hold()
	if _, err := storage.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	for query, code := range map[string]int{"": http.StatusOK, "?resourceVersion=0": http.StatusNotFound} {
		w := httptest.NewRecorder()
		if server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, configs+"/a"+query, nil)); w.Code != code {
			t.Errorf("%q: %d, want %d", query, w.Code, code)
		}
	}
}

func TestTheErrorsOfOwnersAreThoseOfTheVersion(t *testing.T) {
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p"}}}}
	for v, want := range map[Version]string{V136: "metadata.ownerReferences.uid: Invalid value", V137: "metadata.ownerReferences[0].uid: Required value"} {
		r := ConfigMaps
		if err := r.prepareCreate(obj, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", v, err, want)
		}
	}
}

func TestAnEmptyListOfABuiltInKindIsNotStored(t *testing.T) {
	server := New(NewStorage(Resource{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("roles"), Kind: "Role"}), Options{})
	defer server.Close()
	w := httptest.NewRecorder()
	body := strings.NewReader(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"a"},"rules":[]}`)
	server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/namespaces/ns/roles", body))
	if !strings.Contains(w.Body.String(), `"rules":null`) {
		t.Error(w.Body)
	}
}

func TestARefusedBodyForACustomResourceIsNamedByItsOwnKind(t *testing.T) {
	gadgets := Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}, Kind: "Gadget", ClusterScoped: true}
	server := New(NewStorage(gadgets), Options{})
	defer server.Close()
	w := httptest.NewRecorder()
	body := strings.NewReader(`{"apiVersion":"v7","kind":"Secret","metadata":{"name":"a"},"status":{},"status":{}}`)
	server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/apis/example.com/v1/gadgets?fieldValidation=Strict", body))
	if !strings.Contains(w.Body.String(), `Secret in version \"v7\" cannot be handled as a Secret: strict decoding error`) {
		t.Error(w.Body)
	}
}

// Package e2e compares requests with stringData, patches too, with those to a real server.
func TestASecretIsStoredWithItsStringDataInItsData(t *testing.T) {
	typed := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "typed"}, Data: map[string][]byte{"a": []byte("1"), "b": []byte("1")}, StringData: map[string]string{"b": "2", "c": "2"}}
	for _, obj := range []runtime.Object{typed, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": "ns", "name": "untyped"},
		"data": map[string]any{"a": "MQ==", "b": "MQ=="}, "stringData": map[string]any{"b": "2", "c": "2"},
	}}} {
		created, err := NewStorage(resourceOf(corev1.SchemeGroupVersion, "Secret")).Create(obj)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(created)
		if err != nil || !strings.Contains(string(b), `"data":{"a":"MQ==","b":"Mg==","c":"Mg=="}`) || strings.Contains(string(b), "stringData") {
			t.Errorf("%s, %v", b, err)
		}
	}
	if len(typed.StringData) != 2 || len(typed.Data) != 2 {
		t.Errorf("the caller's object has become %v", typed)
	}
}
