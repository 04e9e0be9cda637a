package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// server serves the pods of an origin over HTTP, in JSON, without watch-list,
// by namespace and label. Field selectors are taken and not looked at.
type server struct {
	logbook
	o      *origin
	client *rest.RESTClient
}

// newServer starts a server and makes a client for it; both end with the test.
func newServer(t *testing.T) *server {
	s := &server{o: listOnly()}
	web := httptest.NewServer(s)
	transport := &http.Transport{}
	t.Cleanup(func() {
		s.o.end()
		web.CloseClientConnections()
		transport.CloseIdleConnections()
		web.Close()
	})
	client, err := rest.RESTClientFor(&rest.Config{
		Host: web.URL, APIPath: "/api", Transport: transport, QPS: -1,
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	})
	must(t, err)
	s.client = client
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var options metav1.ListOptions
	if err := metav1.Convert_url_Values_To_v1_ListOptions(ptrTo(r.URL.Query()), &options, nil); err != nil {
		fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	verb := "list"
	if options.Watch {
		verb = "watch"
	}
	s.write(fmt.Sprintf("%s %s fields=%s labels=%s version=%s",
		verb, r.URL.Path, options.FieldSelector, options.LabelSelector, options.ResourceVersion))
	namespace, ok := namespaceOf(r.URL.Path)
	selector, err := labels.Parse(options.LabelSelector)
	if !ok || err != nil {
		fail(w, apierrors.NewNotFound(corev1.Resource("pods"), r.URL.Path))
		return
	}
	matches := func(obj runtime.Object) bool {
		p, ok := obj.(*corev1.Pod)
		return ok && (namespace == "" || p.Namespace == namespace) && selector.Matches(labels.Set(p.Labels))
	}
	if options.Watch {
		s.serveWatch(w, r, options, matches)
		return
	}
	obj, err := s.o.ListWithContext(r.Context(), options)
	if err != nil {
		fail(w, err)
		return
	}
	list := obj.(*corev1.PodList)
	answer := &corev1.PodList{ListMeta: list.ListMeta}
	answer.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	for _, p := range list.Items {
		if matches(&p) {
			answer.Items = append(answer.Items, p)
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func ptrTo[T any](v T) *T { return &v }

// namespaceOf takes the namespace out of the path of a collection of pods.
func namespaceOf(path string) (namespace string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/v1/")
	if !ok || rest == "pods" {
		return "", ok
	}
	rest, ok = strings.CutPrefix(rest, "namespaces/")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(rest, "/pods")
}

// fail answers as the error says; that the client is gone is not our concern.
func fail(w http.ResponseWriter, err error) {
	status := apierrors.NewInternalError(err).Status()
	if s, ok := err.(apierrors.APIStatus); ok {
		status = s.Status()
	}
	status.Kind, status.APIVersion = "Status", "v1"
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

func (s *server) serveWatch(w http.ResponseWriter, r *http.Request, options metav1.ListOptions, matches func(runtime.Object) bool) {
	events, err := s.o.WatchWithContext(r.Context(), options)
	if err != nil {
		fail(w, err)
		return
	}
	defer events.Stop()
	flusher := w.(http.Flusher)
	flusher.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e, ok := <-events.ResultChan():
			if !ok {
				return
			}
			if e.Type != watch.Bookmark && !matches(e.Object) {
				continue
			}
			e.Object.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			raw, err := json.Marshal(e.Object)
			if err != nil {
				panic("BUG: a pod that cannot be encoded: " + err.Error())
			}
			frame := metav1.WatchEvent{Type: string(e.Type), Object: runtime.RawExtension{Raw: raw}}
			if json.NewEncoder(w).Encode(frame) != nil {
				return
			}
			flusher.Flush()
		}
	}
}
