//go:build e2e

package programs

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	nodes       = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// server is the truth: what the API server says when asked without an
// informer.
type server struct {
	ctx    context.Context
	config *rest.Config
	client dynamic.Interface
}

func newServer(ctx context.Context, cfg *rest.Config) *server {
	return &server{ctx, cfg, must(dynamic.NewForConfig(cfg))}
}

// kind is where a kind of objects is found, and the Go type that they have.
type kind[T any] struct {
	s         *server
	resource  schema.GroupVersionResource
	namespace string
}

func (k kind[T]) client() dynamic.ResourceInterface {
	if k.namespace == "" {
		return k.s.client.Resource(k.resource)
	}
	return k.s.client.Resource(k.resource).Namespace(k.namespace)
}

func (k kind[T]) typed(t *testing.T, u *unstructured.Unstructured) *T {
	t.Helper()
	if obj, ok := any(u).(*T); ok {
		return obj
	}
	obj := new(T)
	check(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj))
	return obj
}

func (k kind[T]) create(t *testing.T, apiVersion, kindName string, obj any) {
	t.Helper()
	u := &unstructured.Unstructured{Object: must(runtime.DefaultUnstructuredConverter.ToUnstructured(obj))}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kindName)
	_, err := k.client().Create(k.s.ctx, u, metav1.CreateOptions{})
	check(t, err)
}

func (k kind[T]) patch(t *testing.T, name, patch string) {
	t.Helper()
	_, err := k.client().Patch(k.s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	check(t, err)
}

func (k kind[T]) delete(t *testing.T, name string) {
	t.Helper()
	check(t, k.client().Delete(k.s.ctx, name, metav1.DeleteOptions{}))
}

// follow watches one object on the server until ok says yes of its state, and
// returns that; nil means that there is none. ok is also told of states that
// are long gone once it has been told of a first one, so it must not count on
// the next being the newest.
func (k kind[T]) follow(t *testing.T, name, what string, ok func(*T) bool) *T {
	t.Helper()
	only := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	var last *T
	for {
		list, err := k.client().List(k.s.ctx, only)
		check(t, err)
		last = nil
		if len(list.Items) > 0 {
			last = k.typed(t, &list.Items[0])
		}
		if ok(last) {
			return last
		}
		from := only
		from.ResourceVersion = list.GetResourceVersion()
		if last, err = k.watch(t, from, ok); err == nil {
			return last
		}
		if k.s.ctx.Err() != nil {
			t.Fatalf("%s %s/%s is never %s; at last: %+v", k.resource.Resource, k.namespace, name, what, last)
		}
	}
}

// watch is one watch of follow's.
func (k kind[T]) watch(t *testing.T, from metav1.ListOptions, ok func(*T) bool) (last *T, err error) {
	w, err := k.client().Watch(k.s.ctx, from)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		u, isObject := e.Object.(*unstructured.Unstructured)
		if !isObject {
			return last, apierrors.FromObject(e.Object)
		}
		last = nil
		if e.Type != "DELETED" {
			last = k.typed(t, u)
		}
		if ok(last) {
			return last, nil
		}
	}
	return last, fmt.Errorf("the watch has ended")
}

func isGone[T any](obj *T) bool { return obj == nil }

func (s *server) createNamespace(t *testing.T, name string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Namespace")
	u.SetName(name)
	_, err := s.client.Resource(namespaces).Create(s.ctx, u, metav1.CreateOptions{})
	check(t, err)
}

// define creates a definition and returns when it is established.
func (s *server) define(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	_, err := s.client.Resource(definitions).Create(s.ctx, definition, metav1.CreateOptions{})
	check(t, err)
	kind[unstructuredObject]{s: s, resource: definitions}.follow(t, definition.GetName(), "established", isEstablished)
}

// unstructuredObject is for what has no Go type here.
type unstructuredObject struct {
	metav1.ObjectMeta `json:"metadata"`

	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

func isEstablished(d *unstructuredObject) bool {
	if d != nil {
		for _, c := range d.Status.Conditions {
			if c.Type == "Established" {
				return c.Status == metav1.ConditionTrue
			}
		}
	}
	return false
}
