package conformance

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

func restRow() row {
	return row{
		id: "the rest",
		needs: []string{
			"WaitFor*", "IsDone", "ListAll*", "NewGenericLister", "ObjectToName", "MetaObjectToName", "DeletionHandlingObjectToName",
			"ParseObjectName", "NewCacheMutationDetector", "NewTTLStore", "NewExpirationStore", "NewUndeltaStore", "NewHeap", "NewMutationCache",
		},
		tests: slices.Concat(waitTests(), []test{
			{sentence: "ListAll lists what a selector matches", run: listAll},
			{sentence: "ListAllByNamespace lists by index, or without one", run: listAllByNamespace},
			{sentence: "a generic lister lists and gets", run: genericLister},
			{sentence: "object names come from objects and keys, and become keys again", run: objectNames},
			{sentence: "a mutation detector that is not asked for does nothing", run: mutationDetector},
		}, restStoreTests()),
	}
}

func shelf(t *testing.T, im Implementation, indexers kc.Indexers) kc.Indexer {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, indexers)
	for _, p := range []*corev1.Pod{
		pod("x", "a", label("app", "web")), pod("x", "b"), pod("y", "c", label("app", "web")), pod("", "d", label("app", "web")),
	} {
		must(t, s.Add(p))
	}
	return s
}

// listed collects what a listing function appends.
func listed(t *testing.T, list func(kc.AppendFunc) error) []string {
	t.Helper()
	var objects []any
	must(t, list(func(obj any) { objects = append(objects, obj) }))
	return names(objects)
}

var web = labels.SelectorFromSet(labels.Set{"app": "web"})

func listAll(t *testing.T, im Implementation) {
	s := shelf(t, im, kc.Indexers{})
	all := func(selector labels.Selector) []string {
		return listed(t, func(f kc.AppendFunc) error { return im.ListAll(s, selector, f) })
	}
	same(t, "everything", all(labels.Everything()), "d", "x/a", "x/b", "y/c")
	same(t, "web", all(web), "d", "x/a", "y/c")
	same(t, "nothing", all(labels.Nothing()))
	strange := im.NewStore(keyOfKeyed)
	must(t, strange.Add(keyed{"a", 1}))
	if err := im.ListAll(strange, web, func(any) {}); err == nil {
		t.Error("objects without labels are no error")
	}
}

func listAllByNamespace(t *testing.T, im Implementation) {
	for what, s := range map[string]kc.Indexer{
		"with an index":    shelf(t, im, kc.Indexers{kc.NamespaceIndex: im.MetaNamespaceIndexFunc}),
		"without an index": shelf(t, im, kc.Indexers{}),
	} {
		in := func(namespace string, selector labels.Selector) []string {
			return listed(t, func(f kc.AppendFunc) error { return im.ListAllByNamespace(s, namespace, selector, f) })
		}
		same(t, "all of x "+what, in("x", labels.Everything()), "x/a", "x/b")
		same(t, "web of x "+what, in("x", web), "x/a")
		same(t, "all of z "+what, in("z", labels.Everything()))
		same(t, "nothing of x "+what, in("x", labels.Nothing()))
		same(t, "web of all "+what, in("", web), "d", "x/a", "y/c")
	}
}

func genericLister(t *testing.T, im Implementation) {
	resource := corev1.Resource("pods")
	l := im.NewGenericLister(shelf(t, im, kc.Indexers{kc.NamespaceIndex: im.MetaNamespaceIndexFunc}), resource)
	in := func(list []runtime.Object, err error) []string {
		must(t, err)
		var objects []any
		for _, obj := range list {
			objects = append(objects, obj)
		}
		return names(objects)
	}
	same(t, "web", in(l.List(web)), "d", "x/a", "y/c")
	same(t, "web of x", in(l.ByNamespace("x").List(web)), "x/a")
	equal(t, "d", describe(value(l.Get("d"))(t)), "d")
	equal(t, "b of x", describe(value(l.ByNamespace("x").Get("b"))(t)), "x/b")
	_, err := l.Get("none")
	_, err2 := l.ByNamespace("x").Get("c")
	if !apierrors.IsNotFound(err) || !apierrors.IsNotFound(err2) {
		t.Errorf("absent objects: %v, %v", err, err2)
	}
	var status apierrors.APIStatus
	if !errors.As(err2, &status) || status.Status().Details.Kind != "pods" || status.Status().Details.Name != "c" {
		t.Errorf("the error of an absent object is %v", err2)
	}
}

func objectNames(t *testing.T, im Implementation) {
	n := value(im.ObjectToName(pod("ns", "a")))(t)
	equal(t, "name", n, kc.ObjectName{Namespace: "ns", Name: "a"})
	equal(t, "name of metadata", im.MetaObjectToName(pod("", "b")), kc.NewObjectName("", "b"))
	equal(t, "name of unknown state", value(im.DeletionHandlingObjectToName(kc.DeletedFinalStateUnknown{Key: "x/y"}))(t), kc.NewObjectName("x", "y"))
	equal(t, "name of an object", value(im.DeletionHandlingObjectToName(pod("x", "y")))(t), kc.NewObjectName("x", "y"))
	equal(t, "parsed", value(im.ParseObjectName("ns/a"))(t), n)
	equal(t, "parsed", value(im.ParseObjectName("a"))(t), kc.NewObjectName("", "a"))
	equal(t, "string", fmt.Sprint(n, " ", kc.NewObjectName("", "b")), "ns/a b")
	equal(t, "namespaced name", n.AsNamespacedName(), types.NamespacedName{Namespace: "ns", Name: "a"})
	equal(t, "from a namespaced name", kc.NamespacedNameAsObjectName(n.AsNamespacedName()), n)
	namespace, name := n.Parts()
	equal(t, "parts", namespace+" "+name, "ns a")
	for what, err := range map[string]error{
		"a key of three parts":   second(im.ParseObjectName("a/b/c")),
		"a string":               second(im.ObjectToName("a string")),
		"a key of unknown state": second(im.DeletionHandlingObjectToName(kc.DeletedFinalStateUnknown{Key: "a/b/c"})),
	} {
		if err == nil {
			t.Errorf("%s has a name", what)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// mutationDetector does not ask for detection: that would take an environment
// variable of the whole process, and end it with a panic.
func mutationDetector(t *testing.T, im Implementation) {
	d := im.NewCacheMutationDetector("pods")
	p := pod("ns", "a")
	d.AddObject(p)
	p.Labels = map[string]string{"written": "by mistake"}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { d.Run(stop); close(done) }()
	testclock.Elapse(time.Minute)
	close(stop)
	equal(t, "Run returns", ended(done), true)
}
