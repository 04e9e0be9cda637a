package ctrlruntime

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server in memory, inside a synctest bubble.
type world struct {
	t       *testing.T
	storage *apiserver.Storage
	server  *apiserver.Server

	mu sync.Mutex
	// requests holds what was listed and watched; guarded by mu.
	requests map[string]int
	// refuse answers a request with an error, after delay; guarded by mu.
	refuse func(*apiserver.Request) error
	delay  time.Duration
	// gets counts the lists of one name; guarded by mu.
	gets int
	// path is that of the server's URL.
	path string
	// wrap wraps the transport of clients, if it is set.
	wrap func(http.RoundTripper) http.RoundTripper
}

// config is that of a client of the server, behind a proxy that removes its path.
func (w *world) config() *rest.Config {
	cfg := w.server.Config()
	if cfg.Host += w.path; w.path != "" {
		cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return withoutPath{strings.TrimSuffix(w.path, "/"), rt} })
	}
	if w.wrap != nil {
		cfg.Wrap(w.wrap)
	}
	return cfg
}

type withoutPath struct {
	path string
	next http.RoundTripper
}

func (t withoutPath) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Path = strings.TrimPrefix(req.URL.Path, t.path)
	return t.next.RoundTrip(req)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, requests: map[string]int{},
		storage: apiserver.NewStorage(apiserver.Pods, apiserver.ConfigMaps, apiserver.Nodes,
			apiserver.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("namespaces"), Kind: "Namespace", ClusterScoped: true})}
	w.server = apiserver.New(w.storage, apiserver.Options{Inject: w.inject})
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) inject(r *apiserver.Request) *apiserver.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Verb == "list" || r.Verb == "watch" {
		w.requests[fmt.Sprintf("%s in %q, labels %q, fields %q", r.Resource.Resource, r.Namespace, r.Options.LabelSelector, r.Options.FieldSelector)]++
	}
	if byName(r) {
		w.gets++
	}
	if w.refuse != nil {
		if err := w.refuse(r); err != nil {
			return &apiserver.Fault{Answer: err, Delay: w.delay}
		}
	}
	return nil
}

// byName reports whether a request is a list of one name.
func byName(r *apiserver.Request) bool {
	return r.Verb == "list" && strings.Contains(r.Options.FieldSelector, "metadata.name=")
}

// refused has requests answered with the errors of a function from now on.
func (w *world) refused(by func(*apiserver.Request) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = by
}

// asked returns what was listed and watched since the last call.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for r := range w.requests {
		all = append(all, r)
	}
	clear(w.requests)
	slices.Sort(all)
	return all
}

func (w *world) create(objs ...client.Object) {
	w.t.Helper()
	for _, obj := range objs {
		if _, err := w.storage.Create(obj.DeepCopyObject()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) update(obj client.Object) {
	w.t.Helper()
	if _, err := w.storage.Update(obj.DeepCopyObject()); err != nil {
		w.t.Fatal(err)
	}
}

// mapper knows the resources of the world without a request.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range map[string]meta.RESTScope{
		"Pod": meta.RESTScopeNamespace, "ConfigMap": meta.RESTScopeNamespace, "Secret": meta.RESTScopeNamespace, "Node": meta.RESTScopeRoot, "Namespace": meta.RESTScopeRoot,
	} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), scope)
		// controller-runtime asks for the scope of lists.
		m.Add(corev1.SchemeGroupVersion.WithKind(kind+"List"), scope)
	}
	m.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	return m
}

// start makes a cache and runs it until the test is over.
func (w *world) start(newCache cache.NewCacheFunc, opts cache.Options) (cache.Cache, func(), error) {
	opts.Mapper, opts.Scheme = mapper(), scheme.Scheme
	c, err := newCache(w.config(), opts)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	synctest.Wait()
	return c, func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error("Start returned", err)
		}
	}, nil
}

// run is start for valid options.
func (w *world) run(newCache cache.NewCacheFunc, opts cache.Options) (cache.Cache, func()) {
	w.t.Helper()
	c, end, err := w.start(newCache, opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return c, end
}

func pod(namespace, name, node string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: node}}
}

func configMap(namespace, name string, labels map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Data: map[string]string{"a": "b"}}
}

func keyed(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}
