package ctrlruntime

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// indexed are the indexes of the benchmarks.
var indexed = map[string]client.IndexerFunc{
	"half": func(obj client.Object) []string { return []string{obj.GetLabels()["half"]} },
	"part": func(obj client.Object) []string { return []string{obj.GetLabels()["part"]} },
}

// besides runs a benchmark on controller-runtime's cache and on kinglet's, with the
// same objects.
func besides(b *testing.B, objs []client.Object, run map[string]func(*testing.B, cache.Cache)) {
	storage := apiserver.NewStorage(apiserver.Pods)
	for _, obj := range objs {
		if _, err := storage.Create(obj); err != nil {
			b.Fatal(err)
		}
	}
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	caches := map[string]cache.Cache{}
	for name, newCache := range map[string]cache.NewCacheFunc{"controller-runtime": cache.New, "kinglet": ctrlruntime.NewCache} {
		c, err := newCache(server.Config(), cache.Options{Mapper: mapper(), Scheme: scheme.Scheme})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		for field, extract := range indexed {
			if err := c.IndexField(ctx, &corev1.Pod{}, field, extract); err != nil {
				b.Fatal(err)
			}
		}
		ended := make(chan error)
		go func() { ended <- c.Start(ctx) }()
		defer func() {
			cancel()
			<-ended
		}()
		if !c.WaitForCacheSync(ctx) {
			b.Fatal(name, "has not synced")
		}
		caches[name] = c
	}
	for _, name := range []string{"controller-runtime", "kinglet"} {
		for _, way := range []string{"copy", "view", "any-order"} {
			if f := run[way]; f != nil && (name == "kinglet" || way == "copy") {
				b.Run(name+"/"+way, func(b *testing.B) {
					b.ReportAllocs()
					before := cpu(b)
					f(b, caches[name])
					b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}

// cpu returns the CPU time that the process has used on all cores, including the
// collector's.
func cpu(b *testing.B) int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// largePods are 2,000, half of them in each half.
func largePods() []client.Object {
	objs := make([]client.Object, 2000)
	for i := range objs {
		p := testpods.Large(i/20, i, 1, false)
		p.ResourceVersion, p.UID = "", ""
		p.Labels["half"] = fmt.Sprint(i % 2)
		objs[i] = p
	}
	return objs
}

func viewOf(b *testing.B, c cache.Cache) *ctrlruntime.View[*corev1.Pod] {
	v, err := ctrlruntime.For[*corev1.Pod](c)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func BenchmarkGet(b *testing.B) {
	objs := largePods()
	get := func(b *testing.B, c cache.Cache, opts ...client.GetOption) {
		ctx, i := context.Background(), 0
		for b.Loop() {
			var p corev1.Pod
			if err := c.Get(ctx, client.ObjectKeyFromObject(objs[i%len(objs)]), &p, opts...); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
	besides(b, objs, map[string]func(*testing.B, cache.Cache){
		"copy": func(b *testing.B, c cache.Cache) { get(b, c) },
		"view": func(b *testing.B, c cache.Cache) {
			v, i := viewOf(b, c), 0
			for b.Loop() {
				if _, ok := v.Get(client.ObjectKeyFromObject(objs[i%len(objs)])); !ok {
					b.Fatal("it is not there")
				}
				i++
			}
		},
	})
}

func BenchmarkGetUnstructured(b *testing.B) {
	objs := largePods()[:200]
	get := func(b *testing.B, c cache.Cache, opts ...client.GetOption) {
		ctx, i := context.Background(), 0
		for b.Loop() {
			var u unstructured.Unstructured
			u.SetGroupVersionKind(podKind)
			if err := c.Get(ctx, client.ObjectKeyFromObject(objs[i%len(objs)]), &u, opts...); err != nil {
				b.Fatal(err)
			}
			i++
		}
	}
	besides(b, objs, map[string]func(*testing.B, cache.Cache){
		"copy": func(b *testing.B, c cache.Cache) { get(b, c) },
	})
}

// BenchmarkList1000 lists 1,000 pods of 2,000 by an index.
func BenchmarkList1000(b *testing.B) {
	half := client.MatchingFields{"half": "1"}
	benchmarkLists(b, largePods(), 1000, half)
}

// BenchmarkListTwoFields lists the 100 pods that are among 10,000 by each of two fields.
func BenchmarkListTwoFields(b *testing.B) {
	objs := make([]client.Object, 19_900)
	for i := range objs {
		labels := map[string]string{"half": fmt.Sprint(i < 10_000), "part": fmt.Sprint(i >= 9_900)}
		p := testpods.New(fmt.Sprint("p", i), fmt.Sprint("n", i%100), "image")
		p.ObjectMeta.Labels = labels
		objs[i] = p
	}
	benchmarkLists(b, objs, 100, client.MatchingFields{"half": "true", "part": "true"})
}

func benchmarkLists(b *testing.B, objs []client.Object, want int, by client.MatchingFields) {
	list := func(b *testing.B, c cache.Cache, opts ...client.ListOption) {
		ctx := context.Background()
		for b.Loop() {
			var list corev1.PodList
			if err := c.List(ctx, &list, opts...); err != nil || len(list.Items) != want {
				b.Fatal(len(list.Items), err)
			}
		}
	}
	look := func(b *testing.B, c cache.Cache, opts ...client.ListOption) {
		v := viewOf(b, c)
		for b.Loop() {
			found, err := v.List(opts...)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for range found {
				n++
			}
			if n != want {
				b.Fatal(n)
			}
		}
	}
	besides(b, objs, map[string]func(*testing.B, cache.Cache){
		"copy":      func(b *testing.B, c cache.Cache) { list(b, c, by) },
		"view":      func(b *testing.B, c cache.Cache) { look(b, c, by) },
		"any-order": func(b *testing.B, c cache.Cache) { look(b, c, by, ctrlruntime.AnyOrder) },
	})
}
