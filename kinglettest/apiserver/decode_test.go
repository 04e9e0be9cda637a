package apiserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	configs = "/api/v1/namespaces/ns/configmaps"
	widgets = "/apis/example.com/v1/namespaces/ns/widgets"
)

// The answers are those of a real server, with which package e2e compares more of them.
func TestBodiesAreRefusedInTheWordsOfARealServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := NewStorage(ConfigMaps, Resource{GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, Kind: "Widget"})
		server := New(storage, Options{})
		defer server.Close()
		if _, err := storage.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			method, path, media, body string
			code                      int
			want                      string
		}{
			{"POST", configs, "", `{"apiVersion":"v1","kind":"List","items":[]}`, 400, "converting (v1.List) to (core.ConfigMap)"},
			{"POST", configs, "", `{"apiVersion":"v1","kind":"Secret"}`, 400, "cannot be handled as a ConfigMap"},
			{"POST", configs, "text/plain", `{"metadata":{"name":"x"}}`, 415, "UnsupportedMediaType"},
			{"POST", configs + "?fieldValidation=Strict", "", `{"metadata":{"name":"x","foo":1}}`, 400, `unknown field \"metadata.foo\"`},
			{"POST", configs + "?fieldValidation=Strict", "", `{"metadata":{"name":"x","name":"y"}}`, 400, `duplicate field \"metadata.name\"`},
			{"POST", widgets, "", `{"apiVersion":"v1","kind":"Widget","metadata":{"name":"x"}}`, 400, "does not match the expected API version (example.com/v1)"},
			{"POST", widgets, "", `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"x"}}`, 422, `"field":"kind"`},
			{"POST", widgets, "application/yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x, foo: 1}", 201, `"kind":"Widget","metadata":{"creationTimestamp"`},
			{"PUT", configs + "/a", "", `{"metadata":{"name":"a","deletionTimestamp":"2020-01-01T00:00:00Z"}}`, 422, "metadata.deletionTimestamp"},
			{"PATCH", configs + "/a", "application/merge-patch+json", `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`, 422, "metadata.deletionTimestamp"},
			{"PATCH", configs + "/a", "application/merge-patch+json", `{"metadata":{"labels":{"x":5}}}`, 422, `"field":"patch"`},
			{"PATCH", configs + "/a", "application/merge-patch+json", `{"metadata":{"uid":null,"namespace":null}}`, 200, `"uid"`},
			{"PATCH", configs + "/a", "application/merge-patch+json", `{"metadata":{"ownerReferences":[{"kind":"A"}]}}`, 422, `"field":"metadata.ownerReferences.uid"`},
			{"PATCH", configs + "/a", "application/merge-patch+json", `null`, 400, "Invalid JSON Patch"},
			{"GET", configs + "/a?resourceVersion=x", "", "", 500, "Invalid value"},
			{"GET", configs + "/a?resourceVersion=9999", "", "", 504, "ResourceVersionTooLarge"},
		} {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			r.Header.Set("Content-Type", c.media)
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			if body := w.Body.String(); w.Code != c.code || !strings.Contains(body, c.want) || w.Code == http.StatusCreated && strings.Contains(body, "foo") {
				t.Errorf("%s %s %s:\n%d %s\nwant %d with %s", c.method, c.path, c.body, w.Code, body, c.code, c.want)
			}
		}
	})
}

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
