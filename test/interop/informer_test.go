package interop

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

func TestAnInformerWithAnInterceptorEqualsTheServerWhateverFailedInBetween(t *testing.T) {
	for _, list := range []bool{false, true} {
		t.Run(fmt.Sprintf("list %v", list), func(t *testing.T) {
			s := newAPIServer(t)
			fill(t, s, 50)
			cfg := s.config()
			cfg.Wrap(source.WrapTransport)
			src := interceptedPods(cfg)
			informer := must(kinglet.New(src, kinglet.Options[*corev1.Pod]{DisableWatchList: list, PageSize: 20}))
			seen := make(chan struct{})
			must(informer.AddHandler(kinglet.HandlerFuncs[*corev1.Pod]{
				OnAdd: func(_ context.Context, p *corev1.Pod, _ bool) {
					if p.Name == "the-last" {
						close(seen)
					}
				},
			}, kinglet.HandlerOptions{}))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- informer.Run(ctx) }()
			if err := informer.WaitSynced(t.Context()); err != nil {
				t.Fatal(err)
			}

			s.rotate("another")
			s.throttle(3)
			s.drop()
			pods, _ := s.storage.List(podGVR.GroupResource())
			for i, o := range pods {
				switch i % 3 {
				case 0:
					s.remove(podGVR.GroupResource(), o)
				case 1:
					p := o.(*corev1.Pod).DeepCopy()
					p.Spec.NodeName = "moved"
					s.put(p)
				}
			}
			s.put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "the-last"}})
			<-seen
			var got, want []*corev1.Pod
			for p := range informer.Snapshot().All() {
				got = append(got, p)
			}
			pods, _ = s.storage.List(podGVR.GroupResource())
			for _, o := range pods {
				p := o.(*corev1.Pod).DeepCopy()
				p.TypeMeta = metav1.TypeMeta{}
				want = append(want, p)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			stop()
			<-ended
			if src.left != 0 || src.read < 2 {
				t.Errorf("%d read, %d left", src.read, src.left)
			}
		})
	}
}
