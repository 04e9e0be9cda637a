package kinglet

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// ownPods returns a running informer of that many pods, 100 on a node. The program has
// written some of them in versions that the watch never reaches.
func ownPods(b testing.TB, pods, written int) *Informer[*corev1.Pod] {
	b.Helper()
	f := &feed{events: func(func([]source.Event[*corev1.Pod]) error) {}}
	for i := range pods {
		p := ownPod(i, i+1)
		f.items = append(f.items, source.Item[*corev1.Pod]{Key: store.Key{Namespace: p.Namespace, Name: p.Name}, UID: p.UID, ResourceVersion: p.ResourceVersion, Object: p})
	}
	inf, err := New[*corev1.Pod](f, Options[*corev1.Pod]{
		OnError: func(error) {},
		Indexers: map[string]IndexFunc[*corev1.Pod]{
			"node": func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	if err := inf.WaitSynced(ctx); err != nil {
		b.Fatal(err)
	}
	for i := range written {
		if err := inf.Wrote(ownPod(i*(pods/written), 1_000_000+i)); err != nil {
			b.Fatal(err)
		}
	}
	return inf
}

func ownPod(i, version int) *corev1.Pod {
	name := fmt.Sprintf("pod-%06d", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(version)},
		Spec:       corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i/100)},
	}
}

// readWays are ways to read an informer, and its store alone.
var readWays = []struct {
	name string
	read func(r Reader[*corev1.Pod], key Key)
}{
	{"Get", func(r Reader[*corev1.Pod], key Key) { r.Get(key) }},
	{"Len", func(r Reader[*corev1.Pod], _ Key) { r.Len() }},
	{"IndexCount", func(r Reader[*corev1.Pod], _ Key) { _, _ = r.IndexCount("node", "node-7") }},
	{"ByIndex", func(r Reader[*corev1.Pod], _ Key) {
		objs, _ := r.ByIndex("node", "node-7")
		for range objs {
		}
	}},
	{"IndexValues", func(r Reader[*corev1.Pod], _ Key) {
		values, _ := r.IndexValues("node")
		for range values {
		}
	}},
	{"All", func(r Reader[*corev1.Pod], _ Key) {
		for range r.All() {
		}
	}},
	{"Prefix", func(r Reader[*corev1.Pod], _ Key) {
		for range r.Prefix(Key{Namespace: "default", Name: "pod-0007"}) {
		}
	}},
}

// BenchmarkReadWithOwnWrites reads 10,000 pods through an informer with no recorded
// write, with one and with 100, and through its store.
func BenchmarkReadWithOwnWrites(b *testing.B) {
	key := Key{Namespace: "default", Name: "pod-000042"}
	for _, written := range []int{-1, 0, 1, 100} {
		inf := ownPods(b, 10_000, max(written, 0))
		r, name := inf.Store(), fmt.Sprintf("written=%d", written)
		if written < 0 {
			r, name = inf.WritableStore(), "store"
		}
		for _, way := range readWays {
			b.Run(name+"/"+way.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					way.read(r, key)
				}
			})
		}
		b.Run(name+"/Snapshot", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if written < 0 {
					inf.WritableStore().Snapshot().Get(key)
				} else {
					inf.Snapshot().Get(key)
				}
			}
		})
	}
}

// BenchmarkWrote records updates, each of another pod, with that many entries.
func BenchmarkWrote(b *testing.B) {
	for _, entries := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			inf := ownPods(b, 10_000, entries)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if err := inf.Wrote(ownPod(i%entries*(10_000/entries), 2_000_000+i)); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}

func TestReadsAllocateNoMoreThanTheStoreWhileThereAreNoOwnWrites(t *testing.T) {
	inf := ownPods(t, 1000, 0)
	key := Key{Namespace: "default", Name: "pod-000042"}
	for _, way := range readWays {
		store := testkit.Allocs(100, func() { way.read(inf.WritableStore(), key) })
		informer := testkit.Allocs(100, func() { way.read(inf.Store(), key) })
		if informer > store {
			t.Errorf("%s: %v allocations, and %v of the store", way.name, informer, store)
		}
	}
	before := testkit.Allocs(100, func() {
		for range inf.WritableStore().Snapshot().All() {
		}
	})
	for what, do := range map[string]func(){
		"Snapshot": func() { inf.Snapshot().Get(key) },
		"All": func() {
			for range inf.Snapshot().All() {
			}
		},
	} {
		if got := testkit.Allocs(100, do); got > before {
			t.Errorf("%s of a snapshot: %v allocations, and %v of the store's", what, got, before)
		}
	}
}
