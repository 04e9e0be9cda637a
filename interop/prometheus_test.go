package interop

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	clientgolang "github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/prometheus"
)

// Client-go's informers and the drop-in's report to one provider, under client-go's names.
func TestInformersReportToPrometheusUnderClientGosNames(t *testing.T) {
	for name, start := range map[string]func(kc.ListerWatcher, runtime.Object, kc.SharedIndexInformerOptions) kc.SharedIndexInformer{
		"client-go": kc.NewSharedIndexInformerWithOptions,
		"kinglet":   cache.NewSharedIndexInformerWithOptions,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clientGo := prometheus.NewClientGo(nil)
				registry := clientgolang.NewPedanticRegistry()
				registry.MustRegister(clientGo)
				id, err := kc.NewInformerName(t.Name())
				if err != nil {
					t.Fatal(err)
				}
				client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: "7"}})
				pods := client.CoreV1().Pods("ns")
				inf := start(&kc.ListWatch{
					ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
					WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
						return pods.Watch(ctx, o)
					},
				}, &corev1.Pod{}, kc.SharedIndexInformerOptions{
					Identifier:              id.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}),
					InformerMetricsProvider: prometheus.InformerMetrics[kc.InformerNameAndResource, kc.HistogramMetric](clientGo),
				})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); inf.RunWithContext(ctx) }()
				synctest.Wait()
				got := reported(t, registry)
				want := []string{"informer_processing_latency_seconds", "informer_queued_items", "informer_store_resource_version"}
				if !slices.Equal(got, want) {
					t.Errorf("reported are %q, want %q", got, want)
				}
				cancel()
				<-done
				id.Release()
				if got := reported(t, registry); len(got) > 0 {
					t.Errorf("%q after the end", got)
				}
			})
		})
	}
}

// reported returns the names of the families, and checks their labels.
func reported(t *testing.T, g clientgolang.Gatherer) (names []string) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		names = append(names, f.GetName())
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		want := []string{"group=", "name=" + t.Name(), "resource=pods", "version=v1"}
		if len(f.Metric) != 1 || fmt.Sprint(labels) != fmt.Sprint(want) {
			t.Errorf("%s has %d series, the first with %q", f.GetName(), len(f.Metric), labels)
		}
	}
	return names
}
