package ctrlruntime

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// running makes a cache as a manager does, and runs it.
func running(newCache cache.NewCacheFunc, opts cache.Options) (c cache.Cache, stop func()) {
	cfg, stopCluster := aCluster()
	opts.Mapper = mapper() // this cluster has no discovery; leave it out
	c, err := newCache(cfg, opts)
	if err != nil {
		panic(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	c.WaitForCacheSync(ctx)
	return c, func() {
		end()
		if err := <-ended; err != nil {
			panic(err)
		}
		stopCluster()
	}
}

// Namespaces are added and removed while the manager runs.
func Example_setNamespaces() {
	c, stop := running(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: map[string]cache.Config{"shop": {}}})
	defer stop()
	ctx := context.Background()

	var pods corev1.PodList
	fmt.Println(c.List(ctx, &pods), len(pods.Items))

	// "bank" is listed; "shop" is not asked for anything.
	err := ctrlruntime.SetNamespaces(ctx, c, &corev1.Pod{}, map[string]cache.Config{"shop": {}, "bank": {}})
	fmt.Println(err, c.List(ctx, &pods), len(pods.Items))

	// The pods of "shop" are deleted for handlers, and gone from reads.
	err = ctrlruntime.SetNamespaces(ctx, c, &corev1.Pod{}, map[string]cache.Config{"bank": {}})
	fmt.Println(err, c.List(ctx, &pods), len(pods.Items))
	// Output:
	// <nil> 2
	// <nil> <nil> 3
	// <nil> <nil> 1
}

// An informer of metadata shows what the typed informer holds.
func Example_metadata() {
	c, stop := running(ctrlruntime.NewCache, cache.Options{})
	defer stop()
	ctx := context.Background()

	if _, err := c.GetInformer(ctx, &corev1.Pod{}); err != nil {
		panic(err)
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	informer, err := c.GetInformer(ctx, metadata) // no request, no store
	if err != nil {
		panic(err)
	}
	fmt.Println(len(informer.(toolscache.SharedIndexInformer).GetStore().List()))
	err = c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, metadata)
	fmt.Println(metadata.Kind, metadata.Name, err)
	// Output:
	// 3
	// Pod web <nil>
}

// The cache holds all metadata, and whole objects only for what matters.
func Example_whole() {
	options := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{
		&corev1.Pod{}: {Whole: labels.SelectorFromSet(labels.Set{"app": "mine"})},
	}}
	c, stop := running(options.NewCache, cache.Options{})
	defer stop()
	ctx := context.Background()

	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	var mine corev1.PodList
	fmt.Println(c.List(ctx, all), len(all.Items), c.List(ctx, &mine), len(mine.Items))

	var other corev1.Pod // of which only metadata is held, so the server is asked
	err := c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, &other)
	fmt.Println(other.Spec.NodeName, err)
	// Output:
	// <nil> 3 <nil> 1
	// n2 <nil>
}
