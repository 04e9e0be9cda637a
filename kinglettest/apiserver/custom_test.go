package apiserver_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

var gadgets = apiserver.Resource{
	GroupVersionResource: schema.GroupVersionResource{Group: "custom.example.com", Version: "v1", Resource: "gadgets"}, Kind: "Gadget", Status: true,
}

// Gadget is the type that a program has of a custom resource.
type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int64 `json:"size"`
	} `json:"spec"`
}

func (g *Gadget) DeepCopyObject() runtime.Object {
	c := *g
	g.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func gadget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "custom.example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{"name": name, "namespace": "default"}, "spec": map[string]any{"size": int64(1), "other": "kept"},
	}}
}

// Tests of operators add their types to client-go's scheme, one and all.
func TestAResourceIsACustomOneWhoeverKnowsItsType(t *testing.T) {
	scheme.Scheme.AddKnownTypes(gadgets.GroupVersion(), &Gadget{})
	storage := apiserver.NewStorage(gadgets)
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	client := dynamic.NewForConfigOrDie(server.Config()).Resource(gadgets.GroupVersionResource).Namespace("default")
	got, err := client.Create(t.Context(), gadget("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if kept, _, _ := unstructured.NestedString(got.Object, "spec", "other"); kept == "" || got.GetGeneration() != 1 {
		t.Errorf("created: %v", got.Object)
	}
	if _, err := client.Update(t.Context(), gadget("a"), metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("an update without a version: %v", err)
	}
	if _, err := client.Patch(t.Context(), "a", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{}); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a strategic merge patch: %v", err)
	}
	for _, kind := range []string{"", "Gadget"} { // with a TypeMeta and without
		g := &Gadget{ObjectMeta: metav1.ObjectMeta{Name: "typed" + kind, Namespace: "default"}}
		if kind != "" {
			g.SetGroupVersionKind(gadgets.GroupVersion().WithKind(kind))
		}
		if _, err := storage.Create(g); err != nil {
			t.Fatal(err)
		}
	}
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 || list.Items[2].GetKind() != "Gadget" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestInformersSeeThatAResourceWasDefinedAnew(t *testing.T) {
	for _, age := range []time.Duration{time.Second, time.Minute} { // of the watch
		for _, gap := range []time.Duration{0, 200 * time.Millisecond, 5 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				storage := apiserver.NewStorage(gadgets)
				server := apiserver.New(storage, apiserver.Options{})
				defer server.Close()
				if _, err := storage.Create(gadget("a")); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(server.Config()), 0)
				informer := factory.ForResource(gadgets.GroupVersionResource).Informer()
				if err := informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}); err != nil { // the default one sleeps by the time of other bubbles
					t.Fatal(err)
				}
				factory.Start(ctx.Done())
				defer factory.Shutdown()
				defer cancel()
				testbubble.Pass(age)
				if keys := informer.GetStore().ListKeys(); len(keys) != 1 {
					t.Fatal(keys)
				}
				storage.Undefine(gadgets.GroupResource())
				testbubble.Pass(gap)
				storage.Define(gadgets)
				if _, err := storage.Create(gadget("b")); err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(2 * time.Minute)
				if keys := informer.GetStore().ListKeys(); len(keys) != 1 || keys[0] != "default/b" {
					t.Errorf("a watch of %v, %v without the resource: %v", age, gap, keys)
				}
			})
		}
	}
}

func TestAWatchWithoutATimeoutEndsWithinAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.NewStorage(gadgets), apiserver.Options{BookmarkInterval: -1})
		defer server.Close()
		w, err := dynamic.NewForConfigOrDie(server.Config()).Resource(gadgets.GroupVersionResource).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		begin := time.Now()
		if e, ok := <-w.ResultChan(); ok {
			t.Error(e)
		}
		if took := time.Since(begin); took < 30*time.Minute || took > time.Hour {
			t.Error(took)
		}
	})
}
