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

func TestTheResourceOfClosuresIsKnownBehindWrappersOnceARequestShowsIt(t *testing.T) {
	closures := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Interceptor: &Interceptor{}}))
	sources := map[string]Source[*corev1.Pod]{
		"closures":                closures,
		"their transform":         Map(closures, slim),
		"with other keys":         WithKeyFunc(closures, ObjectKey),
		"where there is no other": must(Prefer(nil, closures, PreferOptions{Missing: errEnough})),
	}
	requested := map[string]func() schema.GroupVersionResource{}
	for name, src := range sources {
		requested[name] = src.Traits().Requested
		if requested[name] == nil {
			t.Fatalf("%s: nobody can ask", name)
		}
		if got := requested[name](); !got.Empty() {
			t.Errorf("%s: %v before the first request", name, got)
		}
	}
	if _, err := closures.(*lwSource[*corev1.Pod]).interception.accept(podGVR, true); err != nil {
		t.Fatal(err)
	}
	for name, ask := range requested {
		if got := ask(); got != podGVR {
			t.Errorf("%s: %v after a request for %v", name, got, podGVR)
		}
	}
}
