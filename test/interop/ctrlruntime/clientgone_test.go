package ctrlruntime

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// clusterScoped is object for a kind without a namespace.
func clusterScoped(kind string, typed client.Object) func(form string) client.Object {
	typed.SetName("a")
	return func(form string) client.Object {
		if form == "typed" {
			return typed.DeepCopyObject().(client.Object)
		}
		obj := object(form, "", "a")
		obj.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		return obj
	}
}

// The answer to a write that removes the last finalizer has the version from before it, of
// objects with a namespace and without. A namespace has finalizers in its spec, too, which
// metadata does not tell.
func TestWhatAClientFreedOfItsLastFinalizerIsGone(t *testing.T) {
	for scope, of := range map[string]func(form string) client.Object{
		"namespaced":     func(form string) client.Object { return object(form, "ns", "a") },
		"cluster-scoped": clusterScoped("Node", &corev1.Node{}),
		"a namespace":    clusterScoped("Namespace", &corev1.Namespace{}),
	} {
		for n := range 3 * 3 * 3 * 2 {
			first, writes, reads, alone := allForms[n%3], allForms[n/3%3], allForms[n/9%3], n/27 == 1
			if scope == "a namespace" && writes == "metadata" {
				continue
			}
			t.Run(fmt.Sprintf("%s, informer %s, written %s, read %s, deleted by others %t", scope, first, writes, reads, alone), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					created := of("typed")
					created.SetFinalizers([]string{"a/b"})
					_, err := w.storage.Create(created)
					ok(t, err)
					client, end := w.withClient(ctrlruntime.Options{}, cache.Options{})
					defer end()
					w.server.Release()
					for _, form := range []string{first, reads} {
						_, err := client.cache.GetInformer(t.Context(), of(form))
						ok(t, err)
					}
					synctest.Wait()
					if alone {
						_, err := w.storage.Delete(corev1.Resource(map[string]string{"namespaced": "configmaps", "cluster-scoped": "nodes", "a namespace": "namespaces"}[scope]), types.NamespacedName{Namespace: created.GetNamespace(), Name: "a"}, nil)
						ok(t, err)
						synctest.Wait()
					}
					w.server.Hold()
					if !alone {
						ok(t, client.Delete(t.Context(), of(writes)))
					}
					ok(t, client.Patch(t.Context(), of(writes), rawPatch(`{"metadata":{"finalizers":null}}`)))
					client.behindBy(time.Second)
					out := of(reads)
					if err := client.Get(t.Context(), keyed(created.GetNamespace(), "a"), out); !apierrors.IsNotFound(err) {
						t.Errorf("it has version %s and finalizers %v, %v", out.GetResourceVersion(), out.GetFinalizers(), err)
					}
					testbubble.Pass(time.Second)
				})
			})
		}
	}
}

// A namespace has finalizers in its spec, and often none in its metadata.
func TestANamespaceThatLivesStaysInReadsHoweverItIsWritten(t *testing.T) {
	of := clusterScoped("Namespace", &corev1.Namespace{})
	for n := range 3 * 3 * 2 {
		writes, reads, ending := allForms[n%3], allForms[n/3%3], n/9 == 1
		t.Run(fmt.Sprintf("written %s, read %s, ending %t", writes, reads, ending), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				created := of("typed").(*corev1.Namespace)
				created.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
				if ending {
					created.Finalizers = []string{"a/b"}
				}
				_, err := w.storage.Create(created)
				ok(t, err)
				if ending {
					_, err := w.storage.Delete(corev1.Resource("namespaces"), types.NamespacedName{Name: "a"}, nil)
					ok(t, err)
				}
				client, end := w.withClient(ctrlruntime.Options{}, cache.Options{})
				defer end()
				w.server.Release()
				_, err = client.cache.GetInformer(t.Context(), of(reads))
				ok(t, err)
				synctest.Wait()
				w.server.Hold()
				ok(t, client.Patch(t.Context(), of(writes), rawPatch(`{"metadata":{"labels":{"x":"y"}}}`)))
				client.behindBy(time.Second)
				for _, later := range []time.Duration{0, time.Second, time.Minute, time.Hour} {
					testbubble.Pass(later)
					out := of(reads)
					if err := client.Get(t.Context(), keyed("", "a"), out); err != nil || out.GetLabels()["x"] != "y" {
						t.Errorf("after %v: %v, %v", later, out.GetLabels(), err)
					}
				}
			})
		})
	}
}

// endsNamespaces answers the delete of a namespace as a server does that has marked or removed
// one without finalizers: with the namespace.
type endsNamespaces struct {
	*world
	next  http.RoundTripper
	stays bool
}

func (e *endsNamespaces) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodDelete {
		return e.next.RoundTrip(req)
	}
	marked, err := e.storage.Delete(corev1.Resource("namespaces"), types.NamespacedName{Name: "a"}, nil)
	ok(e.t, err)
	ns := marked.(*corev1.Namespace).DeepCopy()
	if ns.Finalizers = nil; !e.stays {
		_, err := e.storage.Update(ns)
		ok(e.t, err)
	}
	ns.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	return answer(ns)
}

func TestANamespaceIsGoneAfterADeleteThatHasNotOnlyMarkedIt(t *testing.T) {
	of := clusterScoped("Namespace", &corev1.Namespace{})
	for n := range 3 * 3 * 2 {
		writes, reads, stays := allForms[n%3], allForms[n/3%3], n/9 == 1
		t.Run(fmt.Sprintf("deleted %s, read %s, stays %t", writes, reads, stays), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.wrap = func(next http.RoundTripper) http.RoundTripper { return &endsNamespaces{w, next, stays} }
				created := of("typed")
				created.SetFinalizers([]string{"plays/the-mark"})
				w.create(created)
				client, end := w.withClient(ctrlruntime.Options{}, cache.Options{})
				defer end()
				w.server.Release()
				_, err := client.cache.GetInformer(t.Context(), of(reads))
				ok(t, err)
				synctest.Wait()
				w.server.Hold()
				ok(t, client.Delete(t.Context(), of(writes)))
				client.behindBy(time.Second)
				out := of(reads)
				if err := client.Get(t.Context(), keyed("", "a"), out); stays && (err != nil || out.GetDeletionTimestamp() == nil) || !stays && !apierrors.IsNotFound(err) {
					t.Errorf("a read shows it deleted at %v, %v", out.GetDeletionTimestamp(), err)
				}
				testbubble.Pass(2 * time.Second)
			})
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func rawPatch(patch string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(patch))
}

// An object that others have marked for deletion shows that after the client has deleted it,
// alone or with its collection.
func TestWhatAClientDeletesIsShownAsDeletedWhoeverMarkedIt(t *testing.T) {
	for name, write := range map[string]func(w *writer) error{
		"alone": func(w *writer) error { return w.Delete(w.t.Context(), object("typed", "ns", "a")) },
		"with all others": func(w *writer) error {
			return w.DeleteAllOf(w.t.Context(), &corev1.ConfigMap{}, client.InNamespace("ns"))
		},
	} {
		for _, form := range allForms {
			t.Run(name+", "+form, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					created := object("typed", "ns", "a")
					created.SetFinalizers([]string{"a/b"})
					_, err := w.storage.Create(created)
					ok(t, err)
					client, end := w.withClient(ctrlruntime.Options{}, cache.Options{}, form)
					defer end()
					_, err = w.storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: "a"}, nil)
					ok(t, err)
					ok(t, write(client))
					client.behindBy(time.Second)
					out := object(form, "", "")
					if err := client.Get(t.Context(), keyed("ns", "a"), out); err != nil || out.GetDeletionTimestamp() == nil {
						t.Errorf("%v, deleted at %v", err, out.GetDeletionTimestamp())
					}
					testbubble.Pass(time.Second)
				})
			})
		}
	}
}
