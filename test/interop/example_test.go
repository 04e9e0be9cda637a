package interop

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/cache/factories"
	"github.com/kinglet-go/kinglet/source"
)

var indexers = cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}

// A ListWatch made from a REST client takes the fast path by itself, since it
// knows how to make its requests.
func Example_fromClient() {
	cfg, stop := aCluster()
	defer stop()

	client := kubernetes.NewForConfigOrDie(cfg)
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", fields.Everything())
	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, indexers)

	printNames(informer)
	// Output: pod-000 pod-001
}

// A typed clientset, and with it an informer factory and generated listers,
// takes it through WrapTransport.
func Example_typedClientset() {
	cfg, stop := aCluster()
	defer stop()

	cfg.Wrap(source.WrapTransport) // before the client is made
	client := kubernetes.NewForConfigOrDie(cfg)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("ns"))
	if err := factories.Typed(factory, client.CoreV1().Pods("ns")); err != nil {
		panic(err)
	}

	printNames(factory.Core().V1().Pods().Informer())
	pods, err := factory.Core().V1().Pods().Lister().Pods("ns").List(labels.Everything())
	fmt.Println(len(pods), "pods in the generated lister", err)
	// Output:
	// pod-000 pod-001
	// 2 pods in the generated lister <nil>
}

// So does a dynamic client.
func Example_dynamicClient() {
	cfg, stop := aCluster()
	defer stop()

	cfg.Wrap(source.WrapTransport)
	factory := factories.Dynamic(dynamic.NewForConfigOrDie(cfg), 0, "ns", nil)

	printNames(factory.ForResource(widgetGVR).Informer())
	// Output: widget-000 widget-001
}

// And a metadata client.
func Example_metadataClient() {
	cfg, stop := aCluster()
	defer stop()

	cfg.Wrap(source.WrapTransport)
	factory := factories.Metadata(metadata.NewForConfigOrDie(cfg), 0, "ns", nil, nil)

	printNames(factory.ForResource(podGVR).Informer())
	// Output: pod-000 pod-001
}

// A controller-runtime manager makes kinglet's informers by one field, and they
// take the fast path by one line.
func Example_controllerRuntime() {
	cfg, stop := aCluster()
	defer stop()

	cfg.Wrap(source.WrapTransport)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Cache:          ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer},
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: podsOnly, // this cluster has no discovery; leave it out
	})
	if err != nil {
		panic(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()

	mgr.GetCache().WaitForCacheSync(ctx) // a controller's manager does it for it
	var pods corev1.PodList
	err = mgr.GetClient().List(ctx, &pods) // from the cache
	fmt.Println(len(pods.Items), "pods", err)
	end()
	fmt.Println(<-ended)
	// Output:
	// 2 pods <nil>
	// <nil>
}

// aCluster stands for clientcmd or rest.InClusterConfig. There are two pods and
// two widgets.
func aCluster() (cfg *rest.Config, stop func()) {
	dir := must(os.MkdirTemp("", "example"))
	s := startAPIServer(dir)
	for i := range 2 {
		s.put(&corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("pod-%03d", i)},
		})
		s.put(widget("ns", fmt.Sprintf("widget-%03d", i)))
	}
	return s.bearer(), func() { s.stop(); must(0, os.RemoveAll(dir)) }
}

func podsOnly(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper, nil
}

// printNames runs informer until it has synced, and prints what is there.
func printNames(informer cache.SharedIndexInformer) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	var names []any
	for _, obj := range informer.GetStore().List() {
		names = append(names, obj.(metav1.Object).GetName())
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	fmt.Println(names...)
	stop()
	<-ended
}
