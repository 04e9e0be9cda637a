package consistency_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// BenchmarkAConsistencyCheck compares a page of 500 pods of 6 KiB, over HTTP in
// memory, with a store of 500 and of 5,000 of them. Server and informer share
// the process; "page" is the server's answer and a reader that throws it away,
// so the check's own cost is the difference.
func BenchmarkAConsistencyCheck(b *testing.B) {
	for _, objects := range []int{500, 5_000} {
		b.Run(fmt.Sprintf("objects=%d", objects), func(b *testing.B) {
			storage := apiserver.NewStorage(apiserver.Pods)
			for n := range objects {
				if _, err := storage.Create(largePod(n)); err != nil {
					b.Fatal(err)
				}
			}
			server := apiserver.New(storage, apiserver.Options{})
			defer server.Close()
			src, err := source.FromConfig[*corev1.Pod](server.Config(), apiserver.Pods.GroupVersionResource, source.Options{})
			if err != nil {
				b.Fatal(err)
			}
			inf, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error, 1)
			go func() { ended <- inf.Run(ctx) }()
			defer func() { stop(); <-ended }()
			if err := inf.WaitSynced(ctx); err != nil {
				b.Fatal(err)
			}
			b.Run("check", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r, err := inf.CheckConsistency(ctx)
					if err != nil || r.Compared != 500 || r.Differences != 0 {
						b.Fatalf("%+v, %v", r, err)
					}
					b.ReportMetric(float64(r.Bytes), "bytes-read")
				}
			})
			b.Run("page", func(b *testing.B) {
				b.ReportAllocs()
				client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().RESTClient()
				for b.Loop() {
					raw, err := client.Get().Resource("pods").Param("limit", "500").Param("resourceVersionMatch", "Exact").
						Param("resourceVersion", inf.Snapshot().ResourceVersion("")).SetHeader("Accept", "application/vnd.kubernetes.protobuf").Do(ctx).Raw()
					if err != nil || len(raw) == 0 {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// largePod is one of 6 KiB.
func largePod(n int) *corev1.Pod {
	p := testpods.New(fmt.Sprintf("p%d", n), fmt.Sprintf("node%d", n%100))
	p.Labels = map[string]string{"app": fmt.Sprintf("app%d", n%50), "unique": fmt.Sprint(n)}
	for c := range 4 {
		container := corev1.Container{Name: fmt.Sprintf("c%d", c), Image: fmt.Sprintf("registry/app%d:v%d", n%50, c)}
		for e := range 30 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", e), Value: fmt.Sprintf("the value of variable %d, app %d", e, n%50)})
		}
		p.Spec.Containers = append(p.Spec.Containers, container)
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.Unix(int64(n), 0)}}
	return p
}
