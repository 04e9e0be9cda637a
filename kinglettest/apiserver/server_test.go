package apiserver_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

const contentProtobuf = runtime.ContentTypeProtobuf

// world is a server with a client of it, in a bubble.
type world struct {
	*testing.T
	storage *apiserver.Storage
	server  *apiserver.Server
	client  kubernetes.Interface
}

// in runs test in a bubble, once for each encoding.
func in(t *testing.T, opts apiserver.Options, test func(*world)) {
	t.Helper()
	inScripted(t, opts, nil, test)
}

// inScripted does so with a script that begins anew each time.
func inScripted(t *testing.T, opts apiserver.Options, script apiserver.Script, test func(*world)) {
	t.Helper()
	for _, content := range []string{runtime.ContentTypeJSON, contentProtobuf} {
		t.Run(content, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := apiserver.NewStorage(apiserver.Pods, apiserver.ConfigMaps, apiserver.Nodes)
				if script != nil {
					opts.Inject = script.Inject()
				}
				server := apiserver.New(storage, opts)
				defer server.Close()
				test(&world{t, storage, server, clientOf(t, server.Config(), content)})
			})
		})
	}
}

func clientOf(t *testing.T, cfg *rest.Config, content string) kubernetes.Interface {
	t.Helper()
	cfg.ContentType = content
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) create(name string, labels map[string]string) *corev1.ConfigMap {
	w.Helper()
	obj, err := w.storage.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}, Data: map[string]string{"v": "0"},
	})
	if err != nil {
		w.Fatal(err)
	}
	return obj.(*corev1.ConfigMap)
}

func (w *world) update(name, value string) *corev1.ConfigMap {
	w.Helper()
	obj, err := w.client.CoreV1().ConfigMaps("default").Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	obj.Data = map[string]string{"v": value}
	obj, err = w.client.CoreV1().ConfigMaps("default").Update(w.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return obj
}

func (w *world) list(o metav1.ListOptions) *corev1.ConfigMapList {
	w.Helper()
	l, err := w.client.CoreV1().ConfigMaps("default").List(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

func (w *world) watch(o metav1.ListOptions) watch.Interface {
	w.Helper()
	i, err := w.client.CoreV1().ConfigMaps("default").Watch(w.Context(), o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(i.Stop)
	return i
}

// seen is what a watch has sent so far, as one line; it ends with "end" if the
// watch has.
func (w *world) seen(i watch.Interface) string {
	synctest.Wait()
	var out []string
	for {
		select {
		case e, ok := <-i.ResultChan():
			if !ok {
				return strings.Join(append(out, "end"), " ")
			}
			switch obj := e.Object.(type) {
			case *corev1.ConfigMap:
				out = append(out, fmt.Sprintf("%s:%s%s", e.Type, obj.Name, obj.Data["v"]))
				if obj.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
					out[len(out)-1] += "initial-events-end"
				}
			case *metav1.Status:
				out = append(out, fmt.Sprintf("%s:%d", e.Type, obj.Code))
			default:
				out = append(out, fmt.Sprintf("%s:%T", e.Type, obj))
			}
		default:
			return strings.Join(out, " ")
		}
		synctest.Wait()
	}
}

func (w *world) sees(i watch.Interface, want string) {
	w.Helper()
	if got := w.seen(i); got != want {
		w.Errorf("seen  %s\nwanted %s", got, want)
	}
}

func yes() *bool { b := true; return &b }

func TestAWatchListSendsEverythingAndThenTheBookmark(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		w.create("a", nil)
		w.create("b", nil)
		i := w.watch(metav1.ListOptions{
			SendInitialEvents: yes(), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		w.create("c", nil)
		got := w.seen(i)
		if want := "ADDED:a0 ADDED:b0 BOOKMARK:initial-events-end ADDED:c0"; got != want && got != "ADDED:a0 ADDED:b0 ADDED:c0 BOOKMARK:initial-events-end" {
			w.Errorf("seen %s, wanted %s", got, want)
		}
		// The watch may have begun after the last write: of what has not moved
		// since, there are no bookmarks.
		w.storage.Skip(1)
		testbubble.Pass(61 * time.Second)
		w.sees(i, "BOOKMARK:")
	})
}

func TestAListInPagesIsOfOneRevisionAndExpiresWhenThatIsCompacted(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			w.create(n, nil)
		}
		first := w.list(metav1.ListOptions{Limit: 2})
		if first.RemainingItemCount == nil || *first.RemainingItemCount != 3 {
			w.Errorf("3 are left, the list says %v", first.RemainingItemCount)
		}
		w.update("c", "1")
		_, err := w.client.CoreV1().ConfigMaps("default").List(w.Context(), metav1.ListOptions{Limit: 2, Continue: first.Continue, ResourceVersion: first.ResourceVersion})
		if !apierrors.IsBadRequest(err) {
			t.Errorf("a continuation with a resource version: %v", err)
		}
		second := w.list(metav1.ListOptions{Limit: 2, Continue: first.Continue})
		if second.ResourceVersion != first.ResourceVersion || second.Items[0].Name != "c" || second.Items[0].Data["v"] != "0" {
			w.Errorf("the second page is not of the first's revision: %+v", second)
		}
		w.storage.Compact(w.storage.Revision())
		_, err = w.client.CoreV1().ConfigMaps("default").List(w.Context(), metav1.ListOptions{Limit: 2, Continue: second.Continue})
		if !apierrors.IsResourceExpired(err) {
			w.Fatalf("the third page is answered with %v", err)
		}
		// What the error offers in its place: the rest as it is now.
		rest := w.list(metav1.ListOptions{Continue: err.(apierrors.APIStatus).Status().Continue})
		if len(rest.Items) != 1 || rest.Items[0].Name != "e" {
			w.Errorf("the rest is %+v", rest.Items)
		}
	})
}

func TestAPageOfSelectedObjectsHasATokenIfAnyObjectFollows(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		cms := w.client.CoreV1().ConfigMaps("ns")
		first := w.create("a", nil).ResourceVersion
		for _, name := range []string{"a", "b"} {
			if _, err := cms.Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": name}}}, metav1.CreateOptions{}); err != nil {
				w.Fatal(err)
			}
		}
		for _, c := range []struct {
			opts metav1.ListOptions
			more bool
		}{
			{metav1.ListOptions{LabelSelector: "l=a", Limit: 1}, true},
			{metav1.ListOptions{LabelSelector: "l=a", Limit: 2}, false},
			{metav1.ListOptions{LabelSelector: "l=b", Limit: 1}, false},
			{metav1.ListOptions{LabelSelector: "l=a", Limit: 1, ResourceVersion: "0"}, false},
			{metav1.ListOptions{FieldSelector: "metadata.name=a", Limit: 1}, false},
			{metav1.ListOptions{FieldSelector: "metadata.name=b", Limit: 1, ResourceVersion: first}, false},
		} {
			l, err := cms.List(w.Context(), c.opts)
			if err != nil || len(l.Items) != 1 || l.Continue != "" != c.more {
				w.Errorf("%+v: %d objects, token %q, %v", c.opts, len(l.Items), l.Continue, err)
			}
		}
		all, err := w.client.CoreV1().ConfigMaps("").List(w.Context(), metav1.ListOptions{FieldSelector: "metadata.namespace=default", Limit: 1})
		if err != nil || len(all.Items) != 1 || all.Continue != "" {
			w.Errorf("of one namespace: %d objects, token %q, %v", len(all.Items), all.Continue, err)
		}
	})
}

func TestAWatchFromBeforeACompactionEndsWithExpired(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		rv := w.create("a", nil).ResourceVersion
		w.update("a", "1")
		w.storage.Compact(w.storage.Revision())
		w.sees(w.watch(metav1.ListOptions{ResourceVersion: rv}), "ERROR:410 end")
	})
}

func TestAServerThatIsHeldKnowsNothingNewerUntilItIsLetGo(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		rv := w.create("a", nil).ResourceVersion
		i := w.watch(metav1.ListOptions{ResourceVersion: rv})
		w.server.Hold()
		newer := w.create("b", nil).ResourceVersion
		w.create("c", nil)
		w.sees(i, "")
		if l := w.list(metav1.ListOptions{ResourceVersion: "0"}); len(l.Items) != 1 {
			w.Errorf("any version has %d objects", len(l.Items))
		}
		if l := w.list(metav1.ListOptions{}); len(l.Items) != 3 {
			w.Errorf("a consistent list has %d objects", len(l.Items))
		}
		_, err := w.client.CoreV1().ConfigMaps("default").List(w.Context(), metav1.ListOptions{ResourceVersion: newer})
		if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			w.Errorf("a version that it does not have: %v", err)
		}
		w.server.Advance(1)
		w.sees(i, "ADDED:b0")
		w.server.Release()
		w.sees(i, "ADDED:c0")
	})
}

// The usual mistakes are to apply an object without TypeMeta, and one that was read from the server.
func TestWhatIsAppliedIsAnObjectByItself(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		rest := w.client.CoreV1().RESTClient()
		apply := func(body string) error {
			return rest.Patch(types.ApplyYAMLPatchType).Namespace("ns").Resource("configmaps").Name("a").Param("fieldManager", "me").Body([]byte(body)).Do(w.Context()).Error()
		}
		for body, want := range map[string]string{
			`{"metadata":{"name":"a"}}`:                                                         "invalid object type",
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`:                       "invalid object type",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[]}}`: "managedFields must be nil",
			`{"apiVersion":"v1","kind":"ConfigMap"}`:                                            "name must be provided",
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`:                    "does not match",
			`[]`: "error decoding YAML",
		} {
			if err := apply(body); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want) {
				w.Errorf("%s: %v", body, err)
			}
		}
		if err := apply(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"1"}}`); err != nil {
			w.Errorf("a version of what there is none: %v", err)
		}
	})
}

// An apply with a UID is how a controller avoids to create again what somebody has deleted.
func TestAnApplyWithAUIDCreatesNothing(t *testing.T) {
	in(t, apiserver.Options{}, func(w *world) {
		maps, opts := w.client.CoreV1().ConfigMaps("ns"), metav1.ApplyOptions{FieldManager: "me"}
		if _, err := maps.Apply(w.Context(), corev1ac.ConfigMap("a", "ns").WithUID("other"), opts); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "uid mismatch") {
			w.Errorf("with a UID: %v", err)
		}
		if _, err := maps.Get(w.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			w.Errorf("then a Get: %v", err)
		}
		made, err := maps.Apply(w.Context(), corev1ac.ConfigMap("a", "ns"), opts)
		if err != nil {
			w.Fatal(err)
		}
		if _, err := maps.Apply(w.Context(), corev1ac.ConfigMap("a", "ns").WithUID(made.UID).WithLabels(map[string]string{"x": "y"}), opts); err != nil {
			w.Errorf("with its UID: %v", err)
		}
	})
}

func TestAListIsNotContinuedAtAVersionThatTheStorageHasLost(t *testing.T) {
	for name, lose := range map[string]func(*apiserver.Storage, int64) error{
		"restored":  func(s *apiserver.Storage, to int64) error { return s.Restore(to) },
		"restarted": func(s *apiserver.Storage, _ int64) error { s.Restart(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			in(t, apiserver.Options{}, func(w *world) {
				w.create("a", nil)
				backup := w.storage.Revision()
				w.create("b", nil)
				w.create("c", nil)
				page := w.list(metav1.ListOptions{Limit: 1})
				if err := lose(w.storage, backup); err != nil {
					w.Fatal(err)
				}
				rest, err := w.client.CoreV1().ConfigMaps("default").List(w.Context(), metav1.ListOptions{Continue: page.Continue})
				if !apierrors.IsTimeout(err) {
					w.Errorf("answered with %v, %v", rest, err)
				}
			})
		})
	}
}
