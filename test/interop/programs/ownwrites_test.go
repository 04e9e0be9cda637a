//go:build e2e

package programs

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/kinglettest"
)

// valved holds back what watches answer while its valve is locked, and else lets it through in
// small pieces, so that time passes between two events.
type valved struct {
	next  http.RoundTripper
	valve *sync.RWMutex
}

func (v valved) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := v.next.RoundTrip(req)
	if err == nil && req.URL.Query().Get("watch") != "" {
		resp.Body = valveBody{resp.Body, v.valve}
	}
	return resp, err
}

type valveBody struct {
	io.ReadCloser
	valve *sync.RWMutex
}

func (b valveBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), 128)])
	time.Sleep(time.Millisecond) // a real server's events are in no bubble
	b.valve.RLock()
	defer b.valve.RUnlock()
	return n, err
}

// testOwnWrites writes by a client of ctrlruntime.NewClient and reads at once, over a
// cache of two namespaces whose watches bring nothing meanwhile.
func testOwnWrites(t *testing.T, s *server, _ *kinglettest.Cluster) {
	for _, ns := range []string{"own-1", "own-2", "own-3"} {
		s.createNamespace(t, ns)
	}
	cfg := rest.CopyConfig(s.config)
	valve := &sync.RWMutex{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return valved{next, valve} })
	c := must(cluster.New(cfg, func(o *cluster.Options) {
		o.Scheme = scheme.Scheme
		o.NewCache, o.NewClient = ctrlruntime.NewCache, ctrlruntime.NewClient
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
		o.Cache.DefaultNamespaces = map[string]ctrlcache.Config{"own-1": {}, "own-2": {}}
	}))
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	o := &ownReads{t: t, ctx: ctx, Client: c.GetClient(), valve: valve}
	defer func() {
		o.shut(false)
		stop()
		check(t, <-ended)
	}()
	for _, form := range []client.ObjectList{typedMaps(), untypedMaps(), metadataMaps()} {
		check(t, o.List(ctx, form)) // makes the informer
	}
	for round := range 10 {
		o.round(fmt.Sprintf("map-%d", round), []string{"own-1", "own-2"}[round%2])
	}
	live := must(client.New(s.config, client.Options{}))
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		o.again(live, policy)
	}
	o.endedAtOnce()
	// A namespace without a source is no business of the cache's.
	check(t, o.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "own-3", Name: "elsewhere"}}))
	o.expect("elsewhere", "own-1", "elsewhere", "absent", false)
	t.Logf("%d reads while no watch brought anything, %d that may wait for one", o.reads, o.waits)
}

// ownReads are reads that follow a write.
type ownReads struct {
	t   *testing.T
	ctx context.Context
	client.Client
	valve        *sync.RWMutex
	isShut       bool
	reads, waits int
}

// shut has watches bring nothing, or goes on with them.
func (o *ownReads) shut(shut bool) {
	switch {
	case shut && !o.isShut:
		o.valve.Lock()
	case o.isShut && !shut:
		o.valve.Unlock()
	}
	o.isShut = shut
}

func typedMaps() client.ObjectList { return &corev1.ConfigMapList{} }

func untypedMaps() client.ObjectList {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return l
}

func metadataMaps() client.ObjectList {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	return l
}

// round writes by all verbs, and reads in all forms after each.
func (o *ownReads) round(name, namespace string) {
	t, ctx := o.t, o.ctx
	t.Helper()
	o.shut(true)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"x": "created", "round": name}}}
	check(t, o.Create(ctx, cm))
	o.expect("Create", namespace, name, "created", true)
	cm.Labels["x"] = "updated"
	check(t, o.Update(ctx, cm))
	o.expect("Update", namespace, name, "updated", true)
	before := cm.DeepCopy()
	cm.Labels["x"] = "patched"
	check(t, o.Patch(ctx, cm, client.MergeFrom(before)))
	o.expect("Patch", namespace, name, "patched", true)
	check(t, o.Apply(ctx, corev1ac.ConfigMap(name, namespace).WithLabels(map[string]string{"x": "applied"}), client.FieldOwner("me"), client.ForceOwnership))
	o.expect("Apply", namespace, name, "applied", true)
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	check(t, o.Get(ctx, client.ObjectKeyFromObject(cm), u))
	u.SetLabels(map[string]string{"x": "untyped", "round": name})
	check(t, o.Update(ctx, u))
	o.expect("an unstructured Update", namespace, name, "untyped", false)
	dry := u.DeepCopy()
	dry.SetLabels(map[string]string{"x": "dry"})
	check(t, o.Update(ctx, dry, client.DryRunAll))
	check(t, o.Delete(ctx, dry, client.DryRunAll))
	o.expect("dry runs", namespace, name, "untyped", false)
	check(t, o.Delete(ctx, u))
	o.expect("Delete", namespace, name, "absent", false)
	check(t, o.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"x": "again", "round": name}}}))
	o.expect("Create again", namespace, name, "again", true)
	check(t, o.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace), client.MatchingLabels{"round": name}))
	o.expect("DeleteAllOf", namespace, name, "absent", true)
}

// again deletes a collection in which one object is ending already. With some policies that
// adds a finalizer to the object, and the garbage collector may go on from there.
func (o *ownReads) again(live client.Client, policy metav1.DeletionPropagation) {
	t, ctx := o.t, o.ctx
	t.Helper()
	o.shut(false)
	name := "again-" + strings.ToLower(string(policy))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "own-1", Name: name, Labels: map[string]string{"round": name}, Finalizers: []string{"example.com/f"}}}
	key := client.ObjectKeyFromObject(cm)
	check(t, o.Create(ctx, cm))
	check(t, o.Delete(ctx, cm))
	check(t, live.Get(ctx, key, cm))
	before := cm.ResourceVersion
	o.shut(true)
	check(t, o.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("own-1"), client.MatchingLabels{"round": name}, client.PropagationPolicy(policy)))
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var read corev1.ConfigMap
	err := o.Get(short, key, &read) // it may wait for the watch, which brings nothing
	check(t, live.Get(ctx, key, cm))
	if err == nil && read.ResourceVersion == before && cm.ResourceVersion != before {
		t.Errorf("DeleteAllOf with %s: a read shows the object as before, and it has %v", policy, cm.Finalizers)
	}
	o.shut(false)
	check(t, o.Get(ctx, key, &read))
}

// endedAtOnce ends pods that have no grace: the server marks them in one version, and removes
// them in the next.
func (o *ownReads) endedAtOnce() {
	t, ctx := o.t, o.ctx
	o.shut(false)
	check(t, o.List(ctx, &corev1.PodList{}))
	for n := range 3 {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "own-1", Name: fmt.Sprintf("pod-%d", n)}}
		p.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/c"}}
		check(t, o.Create(ctx, p))
		o.shut(true)
		check(t, o.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("own-1"), client.GracePeriodSeconds(0)))
		o.shut(false)
		if err := o.Get(ctx, client.ObjectKeyFromObject(p), p); !apierrors.IsNotFound(err) {
			t.Errorf("after DeleteAllOf without grace a read shows a pod, deleted at %v: %v", p.DeletionTimestamp, err)
		}
	}
}

// expect fails unless lists in all forms show a label x of an object, while watches bring
// nothing. Reads may wait for the watch if the answer cannot be read in their form:
// protobuf in unstructured objects, and that to DeleteAllOf in any. In the end watches
// bring nothing again.
func (o *ownReads) expect(after, namespace, name, want string, mayWait bool) {
	o.t.Helper()
	for _, l := range []client.ObjectList{typedMaps(), metadataMaps(), untypedMaps()} {
		if _, untyped := l.(*unstructured.UnstructuredList); mayWait && (untyped || strings.HasPrefix(after, "DeleteAllOf")) {
			o.waits++
			o.shut(false)
		} else {
			o.reads++
		}
		check(o.t, o.List(o.ctx, l, client.InNamespace(namespace)))
		got := "absent"
		switch l := l.(type) {
		case *corev1.ConfigMapList:
			for _, cm := range l.Items {
				if cm.Name == name {
					got = cm.Labels["x"]
				}
			}
		case *metav1.PartialObjectMetadataList:
			for _, cm := range l.Items {
				if cm.Name == name {
					got = cm.Labels["x"]
				}
			}
		case *unstructured.UnstructuredList:
			for _, cm := range l.Items {
				if cm.GetName() == name {
					got = cm.GetLabels()["x"]
				}
			}
		}
		if got != want {
			o.t.Errorf("%s: %T shows %q, want %q", after, l, got, want)
		}
	}
	o.shut(true)
	if want == "absent" {
		return
	}
	if err := o.Get(o.ctx, client.ObjectKey{Namespace: namespace, Name: name}, &corev1.ConfigMap{}); apierrors.IsNotFound(err) {
		o.t.Errorf("%s: Get does not find it", after)
	} else {
		check(o.t, err)
	}
}
