package source

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func TestWhatIsListedAndSharedIsKnownBehindATransform(t *testing.T) {
	given := NewSharing(0)
	for _, opts := range []Options{{}, {Sharing: given}, {DisableSharing: true}} {
		want := opts.Sharing
		if want == nil && !opts.DisableSharing {
			want = orDefault(nil)
		}
		rest := must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, opts))
		lw := must(FromListerWatcher[*corev1.Pod](&closures{}, opts))
		opts.Intercept = true
		through := must(FromListerWatcher[*corev1.Pod](&closures{}, opts))
		check := func(when, name string, src Source[*corev1.Pod], resource schema.GroupVersionResource, shared *Sharing) {
			t.Helper()
			for _, c := range []struct {
				name   string
				src    Source[*corev1.Pod]
				shared *Sharing
			}{{name, src, shared}, {"Map of " + name, Map(Map(src, slim), slim), want}} {
				got := c.src.Traits()
				if got.Resource != resource || got.Shared != c.shared || got.Sharing != opts.Sharing || got.DisableSharing != opts.DisableSharing {
					t.Errorf("%s, %s, %+v: %+v", when, c.name, opts, got)
				}
				if n := testkit.Allocs(100, func() { c.src.Traits() }); n != 0 {
					t.Errorf("%s: Traits allocates %v times", c.name, n)
				}
			}
		}
		check("at once", "REST", rest, podGVR, want)
		check("at once", "closures", lw, schema.GroupVersionResource{}, nil)
		check("at once", "an interceptor", through, schema.GroupVersionResource{}, opts.Sharing)
		if _, err := through.(*lwSource[*corev1.Pod]).interception.accept(podGVR, "", true, false); err != nil {
			t.Fatal(err)
		}
		check("after a request", "an interceptor", through, podGVR, want)
	}
}
