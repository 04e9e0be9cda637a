package interop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/cache/factories"
	"github.com/kinglet-go/kinglet/source"
)

// factory is what the informer factories of client-go have in common.
type factory interface {
	Start(stop <-chan struct{})
	Shutdown()
}

// madeFactory is a factory with its informer of the pods of a namespace.
type madeFactory struct {
	factory
	wait func(stop <-chan struct{}) (synced int)
	// informer and lister are what the program gets from the factory.
	informer func() clientcache.SharedIndexInformer
	lister   func() clientcache.GenericLister
}

func typedFactory(t *testing.T, client kubernetes.Interface) madeFactory {
	f := informers.NewSharedInformerFactoryWithOptions(client, time.Hour, informers.WithNamespace("ns"))
	if err := factories.Typed(f, client.CoreV1().Pods("ns")); err != nil {
		t.Fatal(err)
	}
	pods := f.Core().V1().Pods()
	return madeFactory{f, func(stop <-chan struct{}) int { return len(f.WaitForCacheSync(stop)) }, pods.Informer,
		func() clientcache.GenericLister { return must(f.ForResource(podGVR)).Lister() }}
}

func dynamicFactory(client dynamic.Interface) madeFactory {
	f := factories.Dynamic(client, time.Hour, "ns", nil)
	pods := f.ForResource(podGVR)
	return madeFactory{f, func(stop <-chan struct{}) int { return len(f.WaitForCacheSync(stop)) }, pods.Informer, pods.Lister}
}

func metadataFactory(client metadata.Interface) madeFactory {
	f := factories.Metadata(client, time.Hour, "ns", func(o *metav1.ListOptions) { o.LabelSelector = "" },
		func(obj any) (any, error) { obj.(*metav1.PartialObjectMetadata).ManagedFields = nil; return obj, nil })
	pods := f.ForResource(podGVR)
	return madeFactory{f, func(stop <-chan struct{}) int { return len(f.WaitForCacheSync(stop)) }, pods.Informer, pods.Lister}
}

// checkFactory starts a factory, and checks that the program sees want pods through an
// informer of kinglet's that reads on a path.
func checkFactory(t *testing.T, f madeFactory, want int, path func(source.Path) bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer f.Shutdown()
	defer cancel()
	f.Start(ctx.Done())
	f.Start(ctx.Done()) // it runs already
	if n := f.wait(ctx.Done()); n != 1 || !f.informer().HasSynced() {
		t.Errorf("waited for %d informers", n)
	}
	pods, err := f.lister().ByNamespace("ns").List(labels.Everything())
	if err != nil || len(pods) != want {
		t.Errorf("%d pods in the lister, want %d: %v", len(pods), want, err)
	}
	o, ok := f.informer().GetController().(cache.Observable)
	if !ok {
		t.Fatal("the informer is not kinglet's")
	}
	if got := o.Status().ReadPath; !path(got.Path) {
		t.Errorf("%v because of %v", got.Path, got.Why)
	}
}

func TestTheFactoriesOfClientGoRunOnKinglet(t *testing.T) {
	wire := func(p source.Path) bool { return p == source.PathProtobuf || p == source.PathJSON }
	for name, made := range map[string]func(*testing.T, *rest.Config) madeFactory{
		"typed": func(t *testing.T, cfg *rest.Config) madeFactory {
			return typedFactory(t, kubernetes.NewForConfigOrDie(cfg))
		},
		"dynamic": func(_ *testing.T, cfg *rest.Config) madeFactory {
			return dynamicFactory(dynamic.NewForConfigOrDie(cfg))
		},
		"metadata": func(_ *testing.T, cfg *rest.Config) madeFactory {
			return metadataFactory(metadata.NewForConfigOrDie(cfg))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			fill(t, s, 30)
			cfg := s.bearer()
			cfg.Wrap(source.WrapTransport)
			checkFactory(t, made(t, cfg), 30, wire)
		})
	}
}

// TestTheFactoriesOfFakesRunOnKinglet at once: their watches never send a watch-list.
func TestTheFactoriesOfFakesRunOnKinglet(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: pod.ObjectMeta}
	for name, made := range map[string]func(*testing.T) madeFactory{
		"typed": func(t *testing.T) madeFactory { return typedFactory(t, fake.NewClientset(pod)) },
		"dynamic": func(*testing.T) madeFactory {
			return dynamicFactory(dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod))
		},
		"metadata": func(*testing.T) madeFactory {
			s := runtime.NewScheme()
			_ = metav1.AddMetaToScheme(s)
			return metadataFactory(metadatafake.NewSimpleMetadataClient(s, partial))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				checkFactory(t, made(t), 1, func(p source.Path) bool { return p == source.PathClient })
				if took := time.Since(begin); took > time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

func TestAFactoryThatHasAnInformerOfTheTypeSaysSo(t *testing.T) {
	client := fake.NewClientset()
	f := informers.NewSharedInformerFactory(client, 0)
	f.Core().V1().Pods().Lister()
	if err := factories.Typed(f, client.CoreV1().Pods("")); err == nil {
		t.Error("client-go's informer of pods was taken for kinglet's")
	}
	if err := factories.Typed(f, client.CoreV1().Nodes()); err != nil {
		t.Error(err)
	}
}
