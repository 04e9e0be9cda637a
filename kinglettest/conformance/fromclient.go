package conformance

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// The part of the row "list and watch" that uses a server over HTTP, in real time.

func fromClientRequests(t *testing.T, im Implementation) {
	s := newServer(t)
	s.put(t, pod("ns", "a"))
	s.put(t, pod("other", "b"))
	byName := im.NewListWatchFromClient(s.client, "pods", "ns", fields.OneTermEqualSelector("metadata.name", "a"))
	filtered := im.NewFilteredListWatchFromClient(s.client, "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) {
		o.LabelSelector = "app=web"
		o.ResourceVersion = "7"
	})
	for _, c := range []struct {
		lw   kc.ListerWatcher
		want string
	}{
		{byName, `pods in "ns" fields=metadata.name=a labels= version=5`},
		{filtered, `pods in "" fields= labels=app=web version=7`},
	} {
		value(c.lw.List(metav1.ListOptions{ResourceVersion: "5"}))(t)
		value(c.lw.Watch(metav1.ListOptions{ResourceVersion: "5"}))(t).Stop()
		with := c.lw.(kc.ListerWatcherWithContext)
		value(with.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "5"}))(t)
		value(with.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "5"}))(t).Stop()
		same(t, "requests", s.take(), "list "+c.want, "watch "+c.want, "list "+c.want, "watch "+c.want)
	}
}

func fromClientByItself(t *testing.T, im Implementation) {
	s := newServer(t)
	s.put(t, pod("ns", "a"))
	lw := im.NewListWatchFromClient(s.client, "pods", "ns", fields.Everything())
	list, ok := value(lw.List(metav1.ListOptions{}))(t).(*corev1.PodList)
	if !ok || len(list.Items) != 1 || describe(&list.Items[0]) != "ns/a@101" || list.ResourceVersion != "101" {
		t.Fatalf("listed %v", list)
	}
	w := value(lw.Watch(metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
	s.put(t, pod("ns", "b"))
	if e := <-w.ResultChan(); e.Type != watch.Added || describe(e.Object) != "ns/b@102" {
		t.Errorf("watched %v", e)
	}
	w.Stop()
	// It ends. Its error about having been stopped is ignored.
	for range w.ResultChan() {
	}
	none := im.NewListWatchFromClient(s.client, "none", "ns", fields.Everything())
	if _, err := none.List(metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a list of a resource that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lw.(kc.ListerWatcherWithContext).ListWithContext(ctx, metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a list whose context has ended: %v", err)
	}
}

// server serves pods over HTTP, without watch-list.
type server struct {
	logbook
	storage *apiserver.Storage
	client  *rest.RESTClient
}

// newServer starts a server and makes a client for it; both end with the test.
func newServer(t *testing.T) *server {
	s := &server{storage: apiserver.NewStorage(apiserver.Pods)}
	web := apiserver.New(s.storage, apiserver.Options{
		WithoutWatchList: true, BookmarkInterval: -1,
		Inject: func(r *apiserver.Request) *apiserver.Fault {
			s.write(fmt.Sprintf("%s %s in %q fields=%s labels=%s version=%s",
				r.Verb, r.Resource, r.Namespace, r.Options.FieldSelector, r.Options.LabelSelector, r.Options.ResourceVersion))
			return nil
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
