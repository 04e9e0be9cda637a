package ctrlruntime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// subresources answers what the server in memory does not: scales, bindings, tokens,
// another version of deployments, and a deletion of a collection with a Status.
type subresources struct {
	*world
	next http.RoundTripper
	// silent is set if the deletion of a collection does not list what was deleted.
	silent bool
}

func (s *subresources) RoundTrip(req *http.Request) (*http.Response, error) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch sub := parts[len(parts)-1]; sub {
	case "scale":
		return s.scale(req, parts[len(parts)-4], parts[len(parts)-2])
	case "binding":
		return s.bind(req, parts[len(parts)-4], parts[len(parts)-2])
	case "token":
		return answer(&authenticationv1.TokenRequest{
			TypeMeta:   metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"},
			ObjectMeta: metav1.ObjectMeta{Namespace: parts[len(parts)-4], Name: parts[len(parts)-2]},
			Status:     authenticationv1.TokenRequestStatus{Token: "t"},
		})
	}
	if strings.HasPrefix(req.URL.Path, "/apis/apps/v1beta2/") {
		return s.otherVersion(req)
	}
	resp, err := s.next.RoundTrip(req)
	if err == nil && s.silent && req.Method == http.MethodDelete && parts[len(parts)-1] == "configmaps" && resp.StatusCode == http.StatusOK {
		resp.Body.Close()
		return answer(&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess})
	}
	return resp, err
}

// otherVersion sends a request in the stored version, and answers in the request's.
func (s *subresources) otherVersion(req *http.Request) (*http.Response, error) {
	stored := req.Clone(req.Context())
	stored.URL.Path = strings.Replace(req.URL.Path, "/v1beta2/", "/v1/", 1)
	replace := func(r io.ReadCloser, from, to string) (io.ReadCloser, int64, error) {
		if r == nil {
			return nil, 0, nil
		}
		defer r.Close()
		b, err := io.ReadAll(r)
		b = bytes.ReplaceAll(b, []byte(`"apps/`+from+`"`), []byte(`"apps/`+to+`"`))
		return io.NopCloser(bytes.NewReader(b)), int64(len(b)), err
	}
	var err error
	if stored.Body, stored.ContentLength, err = replace(req.Body, "v1beta2", "v1"); err != nil {
		return nil, err
	}
	resp, err := s.next.RoundTrip(stored)
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength, err = replace(resp.Body, "v1", "v1beta2")
	resp.Header.Del("Content-Length")
	return resp, err
}

// scale changes the replicas of a deployment, and answers with its scale. Like a real
// server's, the scale has the deployment's version and UID, and no labels.
func (s *subresources) scale(req *http.Request, namespace, name string) (*http.Response, error) {
	var d *appsv1.Deployment
	objs, _ := s.storage.List(deployments.GroupResource())
	for _, obj := range objs {
		if one := obj.(*appsv1.Deployment); one.Namespace == namespace && one.Name == name {
			d = one.DeepCopy()
		}
	}
	if d == nil {
		return nil, fmt.Errorf("no deployment %s/%s", namespace, name)
	}
	if req.Method == http.MethodPut {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(b, nil, nil)
		if err != nil {
			return nil, err
		}
		d.Spec.Replicas = &obj.(*autoscalingv1.Scale).Spec.Replicas
		now, err := s.storage.Update(d)
		if err != nil {
			return nil, err
		}
		d = now.(*appsv1.Deployment)
	}
	return answer(&autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, UID: d.UID, ResourceVersion: d.ResourceVersion, CreationTimestamp: d.CreationTimestamp},
		Spec:       autoscalingv1.ScaleSpec{Replicas: *d.Spec.Replicas},
	})
}

// bind puts a pod on a node, and answers with a Status.
func (s *subresources) bind(req *http.Request, namespace, name string) (*http.Response, error) {
	s.update(pod(namespace, name, "bound", nil))
	return answer(&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated})
}

func answer(obj runtime.Object) (*http.Response, error) {
	b, err := json.Marshal(obj)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(b)), ContentLength: int64(len(b)),
	}, err
}

var deployments = apiserver.Resource{GroupVersionResource: appsv1.SchemeGroupVersion.WithResource("deployments"), Kind: "Deployment"}

// withSubresources is withClient on a server that has subresources.
func withSubresources(t *testing.T, opts cache.Options, silent bool, kinds ...client.Object) (*writer, func()) {
	t.Helper()
	w := newWorld(t)
	w.storage.Define(deployments)
	replicas := int32(1)
	w.create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", Labels: map[string]string{"mine": "yes"}}, Spec: appsv1.DeploymentSpec{Replicas: &replicas}},
		pod("ns", "p", "", nil))
	mappings := mapper().(*meta.DefaultRESTMapper)
	for _, version := range []string{"v1", "v1beta2"} {
		mappings.Add(appsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind().WithVersion(version), meta.RESTScopeNamespace)
	}
	mappings.Add(appsv1.SchemeGroupVersion.WithKind("DeploymentList"), meta.RESTScopeNamespace)
	mappings.Add(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), meta.RESTScopeNamespace)
	opts.Mapper, opts.Scheme = mappings, scheme.Scheme
	config := w.server.Config()
	c, err := ctrlruntime.NewCache(config, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &subresources{w, next, silent} })
	cl, err := ctrlruntime.NewClient(config, client.Options{
		Scheme: scheme.Scheme, Mapper: mappings, Cache: &client.CacheOptions{Reader: c, Unstructured: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for _, kind := range kinds {
		if _, err := c.GetInformer(ctx, kind); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	w.server.Hold()
	return &writer{world: w, Client: cl, cache: c}, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error("Start returned", err)
		}
	}
}

// waited returns how long a read took. It fails if the read does.
func waited(t *testing.T, read func() error) time.Duration {
	t.Helper()
	began := time.Now()
	if err := read(); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

func TestAReadAfterAScaleWaitsForItsVersion(t *testing.T) {
	mine := labels.SelectorFromSet(labels.Set{"mine": "yes"})
	for name, opts := range map[string]cache.Options{
		"all": {}, "a label selector": {DefaultLabelSelector: mine}, "namespaces": {DefaultNamespaces: spaces("ns", "other")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, end := withSubresources(t, opts, false, &appsv1.Deployment{})
				defer end()
				ctx, d := context.Background(), &appsv1.Deployment{}
				get := func() error { return r.Get(ctx, keyed("ns", "d"), d) }
				if took := waited(t, get); took != 0 {
					t.Errorf("before the scale: a read takes %v", took)
				}
				if err := r.SubResource("scale").Update(ctx, d, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}})); err != nil {
					t.Fatal(err)
				}
				r.behindBy(2 * time.Second)
				if took := waited(t, get); took != 2*time.Second || *d.Spec.Replicas != 3 {
					t.Errorf("after it: %d replicas after %v", *d.Spec.Replicas, took)
				}
				if took := waited(t, get); took != 0 {
					t.Errorf("then: a read takes %v", took)
				}
			})
		})
	}
}

// The labels of a scale are not the object's. Its name is.
func TestNoReadWaitsForAScaleOfWhatTheCacheLeavesOutByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, end := withSubresources(t, cache.Options{DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", "other")}, false, &appsv1.Deployment{})
		defer end()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d"}}
		ok(t, r.SubResource("scale").Update(t.Context(), d, client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}})))
		if took := waited(t, func() error { return client.IgnoreNotFound(r.Get(t.Context(), keyed("ns", "d"), d)) }); took != 0 {
			t.Errorf("a read takes %v", took)
		}
	})
}

func TestNoReadWaitsForABindingOrAToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, end := withSubresources(t, cache.Options{}, false, &corev1.Pod{})
		defer end()
		ctx, p := context.Background(), &corev1.Pod{}
		get := func() error { return r.Get(ctx, keyed("ns", "p"), p) }
		binding := &corev1.Binding{Target: corev1.ObjectReference{Name: "bound"}}
		if err := r.SubResource("binding").Create(ctx, pod("ns", "p", "", nil), binding); err != nil {
			t.Fatal(err)
		}
		token := &authenticationv1.TokenRequest{}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
		if err := r.SubResource("token").Create(ctx, account, token); err != nil || token.Status.Token != "t" {
			t.Fatal(err)
		}
		if took := waited(t, get); took != 0 || p.Spec.NodeName != "" {
			t.Errorf("a read takes %v, and shows the node %q before the watch", took, p.Spec.NodeName)
		}
		r.server.Release()
		synctest.Wait()
		if took := waited(t, get); took != 0 || p.Spec.NodeName != "bound" {
			t.Errorf("with the watch a read takes %v, and shows the node %q", took, p.Spec.NodeName)
		}
	})
}

// inOtherVersion returns a deployment in another version than the cache's.
func inOtherVersion(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apps/v1beta2")
	u.SetKind("Deployment")
	u.SetNamespace("ns")
	u.SetName(name)
	return u
}

func TestAReadAfterAWriteInAnotherVersionWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, end := withSubresources(t, cache.Options{}, false, &appsv1.Deployment{})
		defer end()
		ctx, d := context.Background(), &appsv1.Deployment{}
		read := func(what, name, want string) {
			t.Helper()
			r.behindBy(2 * time.Second)
			took := waited(t, func() error { return r.Get(ctx, keyed("ns", name), d) })
			if x := d.Labels["x"]; took != 2*time.Second || x != want {
				t.Errorf("%s: %q after %v", what, x, took)
			}
			synctest.Wait()
			r.server.Hold()
		}
		created := inOtherVersion("new")
		created.SetLabels(map[string]string{"x": "created"})
		if err := r.Create(ctx, created); err != nil {
			t.Fatal(err)
		}
		read("Create", "new", "created")
		if err := r.Patch(ctx, inOtherVersion("d"), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"x":"patched"},"finalizers":["example.com/f"]}}`))); err != nil {
			t.Fatal(err)
		}
		read("Patch", "d", "patched")
		// It is only marked: the answer is the object.
		if err := r.Delete(ctx, inOtherVersion("d")); err != nil {
			t.Fatal(err)
		}
		read("Delete", "d", "patched")
		if d.DeletionTimestamp == nil {
			t.Error("it is not marked")
		}
		// It is gone: the answer has its UID, which all versions share.
		if err := r.Delete(ctx, inOtherVersion("new")); err != nil {
			t.Fatal(err)
		}
		if took := waited(t, func() error { return client.IgnoreNotFound(r.Get(ctx, keyed("ns", "new"), d)) }); took != 0 {
			t.Errorf("a read of what is gone takes %v", took)
		}
		var all appsv1.DeploymentList
		if err := r.List(ctx, &all); err != nil || len(all.Items) != 1 {
			t.Errorf("%d deployments, %v", len(all.Items), err)
		}
	})
}

// The server answers with what it deleted, or with nothing of it. In between, other writes
// in the cluster take the version of its lists beyond what the watch of the kind reaches
// before the next bookmark.
func TestDeleteAllOfIsAwaitedByReadsOfWhatItDeleted(t *testing.T) {
	for name, opts := range map[string]cache.Options{
		"all": {}, "namespaces": {DefaultNamespaces: spaces("ns", "other")}, "slim": {DefaultTransform: slim},
	} {
		for _, form := range allForms {
			for answer, silent := range map[string]bool{"listed": false, "silent": true} {
				t.Run(name+", "+form+", "+answer, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { deleteAllOf(t, opts, form, silent) })
				})
			}
		}
	}
}

func deleteAllOf(t *testing.T, opts cache.Options, form string, silent bool) {
	r, end := withSubresources(t, opts, silent, object(form, "", ""))
	defer end()
	r.server.Release()
	held := configMap("ns", "held", map[string]string{"x": "1"})
	held.Finalizers = []string{"example.com/f"}
	r.create(configMap("ns", "a", map[string]string{"x": "1"}), configMap("ns", "b", map[string]string{"x": "2"}),
		configMap("other", "a", map[string]string{"x": "1"}), held)
	synctest.Wait()
	r.server.Hold()
	ctx, before := context.Background(), r.server.Requests()
	if err := r.DeleteAllOf(ctx, object("typed", "", ""), client.InNamespace("ns"), client.MatchingLabels{"x": "1"}); err != nil {
		t.Fatal(err)
	}
	if n := r.server.Requests() - before; n != 1 && !silent && opts.DefaultTransform == nil {
		t.Errorf("DeleteAllOf took %d requests", n)
	}
	r.update(pod("ns", "p", "n2", nil))
	if x, waited := r.reads(form, "other", "a"); x != "1" || waited != 0 {
		t.Errorf("another namespace: %q after %v", x, waited)
	}
	r.behindBy(2 * time.Second)
	if x, waited := r.reads(form, "ns", "a"); x != "absent" || waited > 2*time.Second || waited == 0 {
		t.Errorf("what was deleted: %q after %v", x, waited)
	}
	marked := object(form, "", "")
	if took := waited(t, func() error { return r.Get(ctx, keyed("ns", "held"), marked) }); took > 2*time.Second || opts.DefaultTransform == nil && marked.GetDeletionTimestamp() == nil {
		t.Errorf("after %v what has a finalizer is marked: %v", took, marked.GetDeletionTimestamp() != nil)
	}
	if x, waited := r.reads(form, "ns", "b"); x != "2" || waited != 0 {
		t.Errorf("what was left: %q after %v", x, waited)
	}
}
