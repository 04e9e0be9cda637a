package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// apiServer is kinglettest's, of pods, secrets and deployments, with discovery in
// front of it, and refusals.
type apiServer struct {
	*httptest.Server
	t       *testing.T
	storage *apiserver.Storage

	mu sync.Mutex
	// refuse, if not nil, may refuse any request. guarded by mu.
	refuse func(*http.Request) *apierrors.StatusError
}

const secretsPath = "/api/v1/secrets"

var (
	secrets     = apiserver.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("secrets"), Kind: "Secret"}
	deployments = apiserver.Resource{GroupVersionResource: appsv1.SchemeGroupVersion.WithResource("deployments"), Kind: "Deployment"}
)

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{t: t, storage: apiserver.NewStorage(apiserver.Pods, secrets, deployments)}
	collections := apiserver.New(s.storage, apiserver.Options{})
	discovery := discoveryDocuments()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.refusal(r); err != nil {
			status := err.Status()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			writeJSON(w, int(status.Code), status)
		} else if document, ok := discovery[r.URL.Path]; ok {
			writeJSON(w, http.StatusOK, document)
		} else {
			collections.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.stop)
	return s
}

// stop ends watches too, for which Close alone would wait.
func (s *apiServer) stop() {
	s.CloseClientConnections()
	s.Close()
}

func (s *apiServer) refusal(r *http.Request) *apierrors.StatusError {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse == nil {
		return nil
	}
	return refuse(r)
}

func (s *apiServer) refuseWith(refuse func(*http.Request) *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// put creates or replaces an object.
func (s *apiServer) put(obj runtime.Object) {
	s.t.Helper()
	if _, err := s.storage.Put(obj); err != nil {
		s.t.Fatal(err)
	}
}

func (s *apiServer) removePod(namespace, name string) {
	s.t.Helper()
	if _, err := s.storage.Delete(apiserver.Pods.GroupResource(), types.NamespacedName{Namespace: namespace, Name: name}, nil); err != nil {
		s.t.Fatal(err)
	}
}

func pod(namespace, name, phase string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
}

func deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
	}
}

// discoveryDocuments are what discovery answers, by path.
func discoveryDocuments() map[string]any {
	verbs := metav1.Verbs{"get", "list", "watch"}
	version := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	return map[string]any{
		"/api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
		}},
		"/api/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Verbs: verbs},
			{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: verbs},
			{Name: "bindings", SingularName: "binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}, Categories: []string{"writable"}},
		}},
		"/apis/apps/v1": metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"}, Verbs: verbs},
		}},
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}
