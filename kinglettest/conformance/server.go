package conformance

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// server serves pods over HTTP, without watch-list.
type server struct {
	logbook
	storage *apiserver.Storage
	client  *rest.RESTClient
}

// newServer starts a server and makes a client for it; both end with the test. Its first
// watch ends after so many events, unless that is 0.
func newServer(t *testing.T, endAfter int) *server {
	s := &server{storage: apiserver.NewStorage(apiserver.Pods)}
	first := true
	web := apiserver.New(s.storage, apiserver.Options{
		WithoutWatchList: true, BookmarkInterval: -1,
		Inject: func(r *apiserver.Request) *apiserver.Fault {
			s.write(fmt.Sprintf("%s %s in %q fields=%s labels=%s version=%s",
				r.Verb, r.Resource, r.Namespace, r.Options.FieldSelector, r.Options.LabelSelector, r.Options.ResourceVersion))
			if !first || r.Verb != "watch" || r.WatchList() {
				return nil
			}
			first = false
			return &apiserver.Fault{EndAfter: endAfter}
		},
	})
	t.Cleanup(web.Close)
	cfg := web.Config()
	cfg.APIPath = "/api"
	cfg.GroupVersion = &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	s.client = value(rest.RESTClientFor(cfg))(t)
	return s
}

// put creates a pod, or replaces the one of its name.
func (s *server) put(t *testing.T, p *corev1.Pod) { value(s.storage.Put(p))(t) }

func (s *server) remove(t *testing.T, namespace, name string) {
	value(s.storage.Delete(apiserver.Pods.GroupResource(), types.NamespacedName{Namespace: namespace, Name: name}, nil))(t)
}
