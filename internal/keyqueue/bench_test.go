package keyqueue

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

type name struct{ namespace, name string }

func names(n int) []name {
	keys := make([]name, n)
	for i := range keys {
		keys[i] = name{fmt.Sprintf("namespace-%d", i%50), fmt.Sprintf("name-%d", i)}
	}
	return keys
}

// An operation is a thousand keys, each added, taken and done.
func BenchmarkAddTakeFinish(b *testing.B) {
	keys := names(1000)
	q := New[name](Options[name]{})
	b.ReportAllocs()
	for b.Loop() {
		for _, k := range keys {
			q.Add(k, AddOptions{})
		}
		for range keys {
			run, _ := q.Take()
			q.Finish(run, Result{})
		}
	}
}

// The heap grown for a million keys that wait, beside their own strings: keys of
// two strings, as types.NamespacedName, and of three, as kinglet.Key.
func BenchmarkAMillionWaitingKeys(b *testing.B) {
	b.Run("2 strings", func(b *testing.B) { waiting(b, names(1_000_000)) })
	b.Run("3 strings", func(b *testing.B) {
		keys := make([]store.Key, 0, 1_000_000)
		for _, n := range names(cap(keys)) {
			keys = append(keys, store.Key{Namespace: n.namespace, Name: n.name})
		}
		waiting(b, keys)
	})
}

func waiting[K comparable](b *testing.B, keys []K) {
	for b.Loop() {
		q := New[K](Options[K]{})
		before := heapBytes()
		for i, k := range keys {
			q.Add(k, AddOptions{After: time.Hour + time.Duration(i*7919%len(keys))*time.Millisecond})
		}
		b.ReportMetric(float64(heapBytes()-before)/float64(len(keys)), "B/key")
		q.Stop()
		runtime.KeepAlive(q)
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
