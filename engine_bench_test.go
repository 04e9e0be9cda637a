package kinglet

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// feed is a source of prepared events.
type feed struct {
	items  []source.Item[*corev1.Pod]
	events func(yield func([]source.Event[*corev1.Pod]) error)
}

func (f *feed) String() string { return "pods made already" }

func (f *feed) Traits() source.Traits {
	return source.Traits{NoWatchList: true}
}

func (f *feed) List(_ context.Context, _ source.ListRequest[*corev1.Pod], yield func(source.Page[*corev1.Pod]) error) error {
	return yield(source.Page[*corev1.Pod]{Items: f.items, ResourceVersion: "100"})
}

func (f *feed) Watch(ctx context.Context, _ source.WatchRequest[*corev1.Pod], yield func([]source.Event[*corev1.Pod]) error) error {
	f.events(yield)
	<-ctx.Done()
	return nil
}

// BenchmarkEngine measures what an event costs after the decoder: reflector, store with
// two indexes, delivery to one handler. Batches have 20 events.
func BenchmarkEngine(b *testing.B) {
	const pods, batch = 50_000, 20
	item := func(i, version int) source.Item[*corev1.Pod] {
		name, rv := fmt.Sprintf("pod-%d", i%pods), strconv.Itoa(version)
		ns := fmt.Sprintf("namespace-%d", i%50)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID(name), ResourceVersion: rv},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%1250)}}
		return source.Item[*corev1.Pod]{Key: store.Key{Namespace: ns, Name: name}, UID: p.UID, ResourceVersion: rv, Object: p}
	}
	f := &feed{}
	for i := range pods {
		f.items = append(f.items, item(i, i))
	}
	var seen atomic.Int64
	done := make(chan struct{})
	var events [][]source.Event[*corev1.Pod]
	for n := 0; n < b.N; n += batch {
		var es []source.Event[*corev1.Pod]
		for i := range batch {
			es = append(es, source.Event[*corev1.Pod]{Type: source.Modified, Item: item((n+i)*7919, pods+n+i), Bytes: 6300})
		}
		events = append(events, es)
	}
	last := events[len(events)-1][batch-1].ResourceVersion
	f.events = func(yield func([]source.Event[*corev1.Pod]) error) {
		b.ResetTimer()
		for _, es := range events {
			if err := yield(es); err != nil {
				b.Error(err)
			}
		}
	}
	inf, err := New[*corev1.Pod](f, Options[*corev1.Pod]{DisableWatchList: true, Indexers: map[string]store.IndexFunc[*corev1.Pod]{
		"namespace": func(p *corev1.Pod) ([]string, error) { return []string{p.Namespace}, nil },
		"node":      func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
	}})
	if err != nil {
		b.Fatal(err)
	}
	handled := func(p *corev1.Pod) {
		if p.ResourceVersion == last {
			b.StopTimer()
			close(done)
		}
	}
	if _, err := inf.AddHandler(HandlerFuncs[*corev1.Pod]{
		// An event that comes during the initial list is folded into it.
		OnAdd:    func(_ context.Context, p *corev1.Pod, _ bool) { handled(p) },
		OnUpdate: func(_ context.Context, _, p *corev1.Pod) { seen.Add(1); handled(p) },
	}, HandlerOptions{}); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var ended = make(chan struct{})
	go func() { inf.Run(ctx); close(ended) }()
	<-done
	b.ReportMetric(float64(seen.Load())/float64(b.N), "delivered/op")
	cancel()
	<-ended
}
