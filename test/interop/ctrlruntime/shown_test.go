package ctrlruntime

import (
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/page"
)

// TestASetShowsTheInformersOfACache looks at them in every way.
func TestASetShowsTheInformersOfACache(t *testing.T) {
	for name, opts := range map[string]cache.Options{
		"all namespaces":     {},
		"several namespaces": {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { showInformers(t, opts) })
		})
	}
}

func showInformers(t *testing.T, opts cache.Options) {
	w := newWorld(t)
	w.create(pod("a", "p", "n1", nil), pod("b", "p", "n1", nil))
	set := kinglet.NewSet()
	c, ended := w.run(ctrlruntime.Options{Set: set}.NewCache, opts)
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if _, err := c.GetInformer(t.Context(), &corev1.Pod{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetInformer(t.Context(), meta); err != nil {
		t.Fatal(err)
	}
	check := func(what string, all []kinglet.Status) {
		t.Helper()
		resources := map[string]int{}
		for _, s := range all {
			resources[s.Resource.Resource] = s.Objects
			if !s.Synced || s.Resource.Version != "v1" {
				t.Errorf("%s: %s: %+v", what, s.Name, s.Resource)
			}
		}
		if n, ok := resources["configmaps"]; !ok || n != 0 || resources["pods"] != 2 || len(all) != 2 {
			t.Errorf("%s: %v", what, resources)
		}
	}
	all, err := ctrlruntime.Status(c)
	if err != nil {
		t.Fatal(err)
	}
	check("Status", all)
	check("Options.Set", set.Status())
	check("cache.Observed", kingletcache.Observed().Status())
	if err := set.Ready(nil); err != nil {
		t.Error(err)
	}
	answer := httptest.NewRecorder()
	page.Handler(set).ServeHTTP(answer, httptest.NewRequest("GET", "/?format=json", nil))
	text, _ := io.ReadAll(answer.Result().Body)
	for _, want := range []string{"/v1, Kind=Pod", "/v1, Kind=ConfigMap, metadata"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not have %q:\n%s", want, text)
		}
	}
	if err := c.RemoveInformer(t.Context(), meta); err != nil {
		t.Fatal(err)
	}
	if n := len(set.Status()); n != 1 {
		t.Errorf("%d informers are shown after one of two was removed", n)
	}
	ended()
	if n := len(set.Status()); n != 0 {
		t.Errorf("%d informers are shown after the cache has ended", n)
	}
}

func TestStatusNeedsACacheOfOurs(t *testing.T) {
	if _, err := ctrlruntime.Status(nil); err == nil {
		t.Error("no error")
	} else if _, ok := errors.AsType[*ctrlruntime.ForeignCacheError](err); !ok {
		t.Error(err)
	}
}
