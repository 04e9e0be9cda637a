package source

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source/internal/fastpath"
)

func TestWhatIsListedAndSharedIsKnownBehindWrappers(t *testing.T) {
	rest := must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, Options{}))
	lw := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{}))
	set := NewSharing(0)
	cases := map[string]struct {
		src      Source[*corev1.Pod]
		resource schema.GroupVersionResource
		own      bool // it shares something without a Set
		shares   bool // it shares through the Set
	}{
		"REST":                  {rest, podGVR, fastpath.Linked, fastpath.Linked},
		"its transform":         {Map(must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, Options{})), slim), podGVR, true, true},
		"with other keys":       {WithKeyFunc(must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, Options{})), ObjectKey), podGVR, false, false},
		"closures":              {lw, schema.GroupVersionResource{}, false, false},
		"preferred to closures": {must(Prefer(must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, Options{})), lw, PreferOptions{})), podGVR, fastpath.Linked, fastpath.Linked},
	}
	for name, c := range cases {
		shared := func() *Sharing {
			if f := c.src.Traits().Shared; f != nil {
				return f()
			}
			return nil
		}
		if got := c.src.Traits().Resource; got != c.resource {
			t.Errorf("%s: resource %v", name, got)
		}
		if got := shared(); (got != nil) != c.own {
			t.Errorf("%s: shares through %v", name, got)
		}
		if share := c.src.Traits().ShareWith; share != nil {
			share(set)
		}
		if got := shared(); (got == set) != c.shares {
			t.Errorf("%s in a Set: shares through %v", name, got)
		}
	}
}

func TestAnInterceptorsSharingIsKnownOnceItReads(t *testing.T) {
	src := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Interceptor: &Interceptor{}}))
	if got := src.Traits().Shared(); got != nil {
		t.Errorf("before anything: %v", got)
	}
	set := NewSharing(0)
	src.Traits().ShareWith(set)
	if got := src.Traits().Shared(); got != set {
		t.Errorf("in a Set: %v", got)
	}
	off := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Interceptor: &Interceptor{}, DisableSharing: true}))
	if got := off.Traits().Shared(); got != nil {
		t.Errorf("with sharing disabled: %v", got)
	}
}
