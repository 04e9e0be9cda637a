package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// apiServer speaks as much of the Kubernetes API as a watching client needs:
// discovery, lists, watches and watch-lists, as full objects or as metadata,
// with everything encoded by apimachinery. Pods, deployments and secrets exist.
type apiServer struct {
	*httptest.Server

	mu      sync.Mutex
	version int                   // guarded by mu
	log     []logged              // guarded by mu; every change, for watches
	objects map[string]metaObject // guarded by mu; by path, namespace and name
	changed chan struct{}         // guarded by mu; closed and replaced at a change
	// refuse, if not nil, may refuse any request. guarded by mu.
	refuse func(*http.Request) *apierrors.StatusError
}

type metaObject interface {
	runtime.Object
	metav1.Object
}

type logged struct {
	path    string
	version int
	event   watch.Event
}

const (
	podsPath        = "/api/v1/pods"
	secretsPath     = "/api/v1/secrets"
	deploymentsPath = "/apis/apps/v1/deployments"
)

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{version: 100, objects: map[string]metaObject{}, changed: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.stop)
	return s
}

// stop ends watches too, for which Close alone would wait.
func (s *apiServer) stop() {
	s.CloseClientConnections()
	s.Close()
}

func (s *apiServer) refuseWith(refuse func(*http.Request) *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// put creates or replaces an object.
func (s *apiServer) put(path string, obj metaObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := path + "|" + obj.GetNamespace() + "/" + obj.GetName()
	kind := watch.Added
	if _, exists := s.objects[key]; exists {
		kind = watch.Modified
	}
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[key] = obj
	s.appendLocked(path, kind, obj)
}

func (s *apiServer) remove(path string, obj metaObject) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	delete(s.objects, path+"|"+obj.GetNamespace()+"/"+obj.GetName())
	last := obj.DeepCopyObject().(metaObject)
	last.SetResourceVersion(strconv.Itoa(s.version))
	s.appendLocked(path, watch.Deleted, last)
}

func (s *apiServer) appendLocked(path string, kind watch.EventType, obj metaObject) {
	s.log = append(s.log, logged{path, s.version, watch.Event{Type: kind, Object: obj.DeepCopyObject()}})
	close(s.changed)
	s.changed = make(chan struct{})
}

func pod(namespace, name, phase string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "uid-" + "1"},
		Status:     corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
}

func deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
	}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil {
		if err := refuse(r); err != nil {
			status := err.Status()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			writeJSON(w, int(status.Code), status)
			return
		}
	}
	verbs := metav1.Verbs{"get", "list", "watch"}
	switch r.URL.Path {
	case "/api":
		writeJSON(w, 200, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
		writeJSON(w, 200, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version},
		}})
	case "/api/v1":
		writeJSON(w, 200, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, ShortNames: []string{"po"}, Verbs: verbs},
			{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: verbs},
			{Name: "bindings", SingularName: "binding", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		}})
	case "/apis/apps/v1":
		writeJSON(w, 200, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true, ShortNames: []string{"deploy"}, Verbs: verbs},
		}})
	default:
		s.collection(w, r)
	}
}

func (s *apiServer) collection(w http.ResponseWriter, r *http.Request) {
	path, namespace := r.URL.Path, ""
	if before, rest, ok := strings.Cut(path, "/namespaces/"); ok {
		ns, resource, _ := strings.Cut(rest, "/")
		path, namespace = before+"/"+resource, ns
	}
	if !slices.Contains([]string{podsPath, secretsPath, deploymentsPath}, path) {
		status := apierrors.NewNotFound(schema.GroupResource{}, "").Status()
		writeJSON(w, 404, status)
		return
	}
	var opts metav1.ListOptions
	if err := metav1.Convert_url_Values_To_v1_ListOptions(ptr(r.URL.Query()), &opts, nil); err != nil {
		writeJSON(w, 400, apierrors.NewBadRequest(err.Error()).Status())
		return
	}
	convert := asIs
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		convert = toMetadata
	}
	if opts.Watch {
		s.watch(w, r, path, namespace, opts, convert)
	} else {
		s.list(w, path, namespace, opts, convert)
	}
}

// list answers with the whole collection, or its first objects and how many
// remain. It does not serve what continues; nobody here asks.
func (s *apiServer) list(w http.ResponseWriter, path, namespace string, opts metav1.ListOptions, convert func(runtime.Object) (any, schema.GroupVersionKind)) {
	items, version := s.state(path, namespace)
	list := map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(version)}}
	if limit := int(opts.Limit); limit > 0 && limit < len(items) {
		list["metadata"] = map[string]any{"resourceVersion": strconv.Itoa(version), "continue": "more", "remainingItemCount": len(items) - limit}
		items = items[:limit]
	}
	encoded := []any{}
	gvk := kindOf(path)
	for _, obj := range items {
		var v any
		v, gvk = convert(obj)
		encoded = append(encoded, v)
	}
	list["items"], list["kind"], list["apiVersion"] = encoded, gvk.Kind+"List", gvk.GroupVersion().String()
	writeJSON(w, 200, list)
}

func (s *apiServer) state(path, namespace string) ([]metaObject, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []metaObject
	for key, obj := range s.objects {
		if strings.HasPrefix(key, path+"|") && (namespace == "" || obj.GetNamespace() == namespace) {
			items = append(items, obj)
		}
	}
	slices.SortFunc(items, func(a, b metaObject) int { return strings.Compare(a.GetName(), b.GetName()) })
	return items, s.version
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, path, namespace string, opts metav1.ListOptions, convert func(runtime.Object) (any, schema.GroupVersionKind)) {
	w.Header().Set("Content-Type", "application/json")
	flusher := w.(http.Flusher)
	send := func(kind watch.EventType, obj any) {
		text, err := json.Marshal(map[string]any{"type": kind, "object": obj})
		if err == nil {
			_, _ = fmt.Fprintf(w, "%s\n", text)
			flusher.Flush()
		}
	}
	from, _ := strconv.Atoi(opts.ResourceVersion)
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		var items []metaObject
		items, from = s.state(path, namespace)
		for _, obj := range items {
			v, _ := convert(obj)
			send(watch.Added, v)
		}
		gvk := kindOf(path)
		send(watch.Bookmark, map[string]any{"kind": gvk.Kind, "apiVersion": gvk.GroupVersion().String(), "metadata": map[string]any{
			"resourceVersion": strconv.Itoa(from), "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
		}})
	}
	flusher.Flush()
	for {
		s.mu.Lock()
		news, changed := s.log, s.changed
		s.mu.Unlock()
		for _, l := range news {
			if l.version <= from || l.path != path {
				continue
			}
			from = l.version
			if obj, err := meta.Accessor(l.event.Object); err == nil && (namespace == "" || obj.GetNamespace() == namespace) {
				v, _ := convert(l.event.Object)
				send(l.event.Type, v)
			}
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func kindOf(path string) schema.GroupVersionKind {
	switch path {
	case deploymentsPath:
		return appsv1.SchemeGroupVersion.WithKind("Deployment")
	case secretsPath:
		return corev1.SchemeGroupVersion.WithKind("Secret")
	}
	return corev1.SchemeGroupVersion.WithKind("Pod")
}

// asIs encodes with client-go's scheme, which adds kind and version.
func asIs(obj runtime.Object) (any, schema.GroupVersionKind) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		panic(err)
	}
	text, err := runtime.Encode(scheme.Codecs.LegacyCodec(kinds[0].GroupVersion()), obj)
	if err != nil {
		panic(err)
	}
	return json.RawMessage(text), kinds[0]
}

func toMetadata(obj runtime.Object) (any, schema.GroupVersionKind) {
	gvk := metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	partial := meta.AsPartialObjectMetadata(m)
	partial.SetGroupVersionKind(gvk)
	return partial, gvk
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func ptr[T any](v T) *T { return &v }
