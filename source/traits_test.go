package source

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatIsListedAndSharedIsKnownBehindWrappers(t *testing.T) {
	given := NewSharing(0)
	rest := func(sharing *Sharing) Source[*corev1.Pod] {
		return must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, Options{Sharing: sharing}))
	}
	lw := func(sharing *Sharing) Source[*corev1.Pod] {
		return must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Sharing: sharing}))
	}
	cases := map[string]struct {
		src      func(*Sharing) Source[*corev1.Pod]
		resource schema.GroupVersionResource
		shares   bool
	}{
		"REST":            {rest, podGVR, true},
		"its transform":   {func(s *Sharing) Source[*corev1.Pod] { return Map(rest(s), slim) }, podGVR, true},
		"with other keys": {func(s *Sharing) Source[*corev1.Pod] { return WithKeyFunc(rest(s), ObjectKey) }, podGVR, false},
		"closures":        {lw, schema.GroupVersionResource{}, false},
	}
	for name, c := range cases {
		for _, options := range []*Sharing{nil, given} {
			src := c.src(options)
			if got := src.Traits().Resource; got != c.resource {
				t.Errorf("%s: resource %v", name, got)
			}
			var want, got *Sharing
			if c.shares {
				want = orDefault(options)
			}
			if shared := src.Traits().Shared; shared != nil {
				got = shared()
			}
			if got != want {
				t.Errorf("%s with %v in its options: shares through %v, want %v", name, options, got, want)
			}
		}
	}
}

func TestAnInterceptorsSharingIsKnownOnceItReads(t *testing.T) {
	src := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Interceptor: &Interceptor{}}))
	if got := src.Traits().Shared(); got != nil {
		t.Errorf("before anything: %v", got)
	}
	if _, err := src.(*lwSource[*corev1.Pod]).interception.accept(podGVR, "", true); err != nil {
		t.Fatal(err)
	}
	if got := src.Traits().Shared(); got != DefaultSharing() {
		t.Errorf("after a request: %v", got)
	}
	off := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Interceptor: &Interceptor{}, DisableSharing: true}))
	if got := off.Traits().Shared(); got != nil {
		t.Errorf("with sharing disabled: %v", got)
	}
}

func TestTheResourceOfClosuresIsKnownBehindWrappersOnceARequestShowsIt(t *testing.T) {
	closures := must(FromListerWatcher[*corev1.Pod](&closures{}, Options{Interceptor: &Interceptor{}}))
	sources := map[string]Source[*corev1.Pod]{
		"closures":        closures,
		"their transform": Map(closures, slim),
		"with other keys": WithKeyFunc(closures, ObjectKey),
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
	if _, err := closures.(*lwSource[*corev1.Pod]).interception.accept(podGVR, "", true); err != nil {
		t.Fatal(err)
	}
	for name, ask := range requested {
		if got := ask(); got != podGVR {
			t.Errorf("%s: %v after a request for %v", name, got, podGVR)
		}
	}
}
