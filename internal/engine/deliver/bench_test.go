//go:build !race

package deliver

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

// BenchmarkDeliver commits as many changes at once and waits until the handler
// has returned from them.
func BenchmarkDeliver(b *testing.B) {
	for _, n := range []int{1, 16, 256, 10_000} {
		b.Run(fmt.Sprintf("%d at once", n), func(b *testing.B) {
			s := newSteady(b, HandlerOptions{}, n)
			b.ReportAllocs()
			for done := 0; done < b.N; done += n {
				s.commit(min(n, b.N-done))
			}
		})
	}
}

// BenchmarkCommit is what one change costs whoever commits it, with handlers
// that stand still, so that it folds.
func BenchmarkCommit(b *testing.B) {
	const keys = 1000
	for _, handlers := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("%d handlers", handlers), func(b *testing.B) {
			s := newSteady(b, HandlerOptions{}, keys)
			s.hub.Handlers()[0].Remove()
			for range handlers {
				if _, err := s.hub.Add(func(ctx context.Context, _ changes) { <-ctx.Done() }, HandlerOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				s.hub.Commit(func() (changes, string) { return s.changes[i : i+1], s.version })
				i = (i + 1) % keys
			}
		})
	}
}

// BenchmarkMaxBatch is what a change costs a handler that does nothing, by how
// many it takes at once: initial state and live changes.
func BenchmarkMaxBatch(b *testing.B) {
	const n = 100_000
	state := frozen{objects: make([]*object, n)}
	live := make(changes, n)
	for i := range n {
		o := &object{key: store.Key{Namespace: "ns", Name: fmt.Sprintf("%06d", i)}}
		state.objects[i] = o
		live[i] = store.Change[*object]{Type: store.Updated, Key: o.key, Old: o, New: o, ResourceVersion: strconv.Itoa(i)}
	}
	for _, size := range []int{1, 16, 256, 4096} {
		opts := HandlerOptions{MaxBatch: size}
		b.Run(fmt.Sprintf("initial/%d", size), func(b *testing.B) {
			s := newSteady(b, HandlerOptions{}, 0)
			s.hub.opts.Snapshot = func() store.Reader[*object] { return state }
			b.ReportAllocs()
			for b.Loop() {
				r, err := s.hub.Add(func(context.Context, changes) {}, opts)
				if err != nil {
					b.Fatal(err)
				}
				<-r.Synced()
				r.Remove()
				<-r.Done()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/change")
		})
		b.Run(fmt.Sprintf("live/%d", size), func(b *testing.B) {
			s := newSteady(b, HandlerOptions{}, 0)
			s.hub.Handlers()[0].Remove()
			left, done := 0, make(chan struct{})
			r, err := s.hub.Add(func(_ context.Context, cs changes) {
				if left -= len(cs); left == 0 {
					done <- struct{}{}
				}
			}, opts)
			if err != nil {
				b.Fatal(err)
			}
			<-r.Synced()
			b.ReportAllocs()
			for b.Loop() {
				left = n
				s.hub.Commit(func() (changes, string) { return live, "1" })
				<-done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/change")
		})
	}
}

// BenchmarkIdleHubs reports what each of 1,000 idle hubs with one handler
// costs.
func BenchmarkIdleHubs(b *testing.B) {
	for b.Loop() {
		bytes, goroutines, end := idleHubs(b, 1000, 0)
		end()
		b.ReportMetric(bytes, "B/hub")
		b.ReportMetric(goroutines, "goroutines/hub")
	}
}
