package fifo_test

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// benchObjects returns pointers, as informers have them.
func benchObjects(n int) []*object {
	objects := make([]*object, n)
	for i := range objects {
		objects[i] = &object{key: "namespace/" + keyName(i), version: i + 1}
	}
	return objects
}

func pointerKey(o *object) (string, error) { return o.key, nil }
func anyPointerKey(o any) (string, error)  { return o.(*object).key, nil }

// One update queued and popped, in an otherwise empty queue and in a full one.
func BenchmarkUpdateAndPop(b *testing.B) {
	objects := benchObjects(100_000)
	fill := map[string]int{"empty": 0, "100000 waiting": len(objects)}
	for name, n := range fill {
		b.Run("DeltaFIFO/"+name+"/kinglet", func(b *testing.B) {
			f := fifo.NewDeltaFIFO(pointerKey, fifo.Options[string, *object]{})
			_ = f.Replace(objects[:n])
			process := func(fifo.Item[string, *object], bool) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = f.Update(objects[i%len(objects)])
				_, _ = f.Pop(context.Background(), process)
			}
		})
		b.Run("DeltaFIFO/"+name+"/client-go", func(b *testing.B) {
			f := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: anyPointerKey, EmitDeltaTypeReplaced: true})
			_ = f.Replace(anys(objects[:n]), "")
			process := func(any, bool) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = f.Update(objects[i%len(objects)])
				_, _ = f.Pop(process)
			}
		})
		b.Run("FIFO/"+name+"/kinglet", func(b *testing.B) {
			f := fifo.NewFIFO(pointerKey)
			_ = f.Replace(objects[:n])
			process := func(*object, bool) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = f.Add(objects[i%len(objects)])
				_, _ = f.Pop(context.Background(), process)
			}
		})
		b.Run("FIFO/"+name+"/client-go", func(b *testing.B) {
			f := cache.NewFIFO(anyPointerKey)
			_ = f.Replace(anys(objects[:n]), "")
			process := func(any, bool) error { return nil }
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = f.Update(objects[i%len(objects)])
				_, _ = f.Pop(process)
			}
		})
	}
}

// A list of 100,000 queued, and all of it popped; per object.
func BenchmarkReplaceAndDrain(b *testing.B) {
	objects := benchObjects(100_000)
	perObject := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(objects)), "ns/object")
	}
	b.Run("kinglet", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := fifo.NewDeltaFIFO(pointerKey, fifo.Options[string, *object]{})
			_ = f.Replace(objects)
			for !f.HasSynced() {
				_, _ = f.Pop(context.Background(), nil)
			}
		}
		perObject(b)
	})
	b.Run("client-go", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: anyPointerKey, EmitDeltaTypeReplaced: true})
			_ = f.Replace(anys(objects), "")
			for !f.HasSynced() {
				_, _ = f.Pop(func(any, bool) error { return nil })
			}
		}
		perObject(b)
	})
}

func anys(objects []*object) []any {
	list := make([]any, len(objects))
	for i, o := range objects {
		list[i] = o
	}
	return list
}
