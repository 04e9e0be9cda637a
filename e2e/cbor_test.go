//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
)

// A server with CBOR (KEP-4222) is followed in it: typed objects, unstructured
// ones and metadata equal what client-go lists in JSON.
func TestStoresEqualAServerThatIsReadInCBOR(t *testing.T) {
	clientfeatures.SetFeatureDuringTest(t, features.ClientsAllowCBOR, true)
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{
		Program: *program, Nodes: 5, Deployments: 8, Replicas: 5, FeatureGates: map[string]bool{"CBORServingAndStorage": true},
	})
	config := cluster.Config(t)
	config.QPS, config.Burst = 200, 400
	client, untyped := kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	inCBOR := cluster.Config(t)
	inCBOR.AcceptContentTypes = "application/cbor"
	podsResource, deploymentsResource := corev1.SchemeGroupVersion.WithResource("pods"), appsv1.SchemeGroupVersion.WithResource("deployments")
	podSource, err := source.FromConfig[*corev1.Pod](inCBOR, podsResource, source.Options{})
	must(t, err)
	pods, err := kinglet.New(podSource, kinglet.Options[*corev1.Pod]{OnError: func(err error) { t.Log("reported:", err) }})
	must(t, err)
	deploymentSource, err := source.FromConfig[*unstructured.Unstructured](inCBOR, deploymentsResource, source.Options{})
	must(t, err)
	deployments, err := kinglet.New(deploymentSource, kinglet.Options[*unstructured.Unstructured]{OnError: func(err error) { t.Log("reported:", err) }})
	must(t, err)
	metaSource, err := source.FromConfig[*metav1.PartialObjectMetadata](inCBOR, deploymentsResource, source.Options{})
	must(t, err)
	metadata, err := kinglet.New(metaSource, kinglet.Options[*metav1.PartialObjectMetadata]{OnError: func(err error) { t.Log("reported:", err) }})
	must(t, err)

	set := kinglet.NewSet(pods, deployments, metadata)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- set.Run(running) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	must(t, set.WaitSynced(ctx))

	h := newHistory("pods")
	_, err = pods.AddHandler(h, kinglet.HandlerOptions{Name: h.name})
	must(t, err)
	must(t, h.until(ctx, func(last map[kinglet.Key]*corev1.Pod) bool {
		ready := 0
		for _, p := range last {
			if p != nil && isReady(p) {
				ready++
			}
		}
		return ready >= 8
	}))
	settled(t, ctx, client, pods)
	list, err := untyped.Resource(deploymentsResource).List(ctx, metav1.ListOptions{})
	must(t, err)
	for i := range list.Items {
		d := &list.Items[i]
		_, err := untyped.Resource(deploymentsResource).Namespace(d.GetNamespace()).Patch(ctx, d.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"read":"in-cbor"}}}`), metav1.PatchOptions{})
		must(t, err)
	}
	settled(t, ctx, client, pods)

	// The list is in JSON. The stores come to its newest object, and then are
	// equal. (To its own version they come with a bookmark, a minute later.)
	list, err = untyped.Resource(deploymentsResource).List(ctx, metav1.ListOptions{})
	must(t, err)
	newest := slices.MaxFunc(list.Items, func(a, b unstructured.Unstructured) int {
		x, y := a.GetResourceVersion(), b.GetResourceVersion()
		return cmp.Or(len(x)-len(y), strings.Compare(x, y))
	})
	must(t, deployments.WaitVersion(ctx, newest.GetResourceVersion()))
	must(t, metadata.WaitVersion(ctx, newest.GetResourceVersion()))
	unequal := 0
	for i := range list.Items {
		want := &list.Items[i]
		key := kinglet.Key{Namespace: want.GetNamespace(), Name: want.GetName()}
		got, ok := deployments.Snapshot().Get(key)
		meta, okMeta := metadata.Snapshot().Get(key)
		if !ok || !okMeta {
			t.Errorf("%s is missing", key)
			continue
		}
		if got.GetResourceVersion() != want.GetResourceVersion() || meta.ResourceVersion != want.GetResourceVersion() {
			continue // it has changed since
		}
		unequal += compare(t, key, want, got, meta)
	}
	for name, path := range map[string]source.ReadPath{"pods": pods.Status().ReadPath, "deployments": deployments.Status().ReadPath, "metadata": metadata.Status().ReadPath} {
		if path.Path != source.PathCBOR || path.Why != nil {
			t.Errorf("%s are read by %v: %v", name, path.Path, path.Why)
		}
	}
	if len(list.Items) == 0 || pods.Snapshot().Len() == 0 {
		t.Error("there was nothing to compare")
	}
	t.Logf("%d deployments, %d unequal", len(list.Items), unequal)
}

// compare returns how many of a deployment's two forms are not what was listed.
func compare(t *testing.T, key kinglet.Key, want, got *unstructured.Unstructured, meta *metav1.PartialObjectMetadata) (unequal int) {
	if !equality.Semantic.DeepEqual(want.Object, got.Object) {
		unequal++
		t.Errorf("%s: listed\n%v\nand in the store\n%v", key, want.Object, got.Object)
	}
	if fmt.Sprint(meta.Labels) != fmt.Sprint(want.GetLabels()) || meta.UID != want.GetUID() || meta.Generation != want.GetGeneration() {
		unequal++
		t.Errorf("%s: metadata\n%+v", key, meta)
	}
	return unequal
}
