package reflector

import (
	"context"
	"strconv"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// blackHole is a sink that keeps nothing.
type blackHole struct{}

func (blackHole) Held(store.Key) (*thing, store.Memo, bool)                  { return nil, nil, false }
func (blackHole) Apply(store.Scope, []source.Event[*thing], string)          {}
func (blackHole) Replace(store.Scope, [][]source.Item[*thing], string, bool) {}
func (blackHole) Bookmark(store.Scope, string)                               {}

// feed runs a reflector whose watch is f, which ends it with its context.
func feed(tb testing.TB, f func(yield func([]source.Event[*thing]) error)) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := New[*thing](newScript(
		lists("1"),
		func(_ context.Context, y yield) error {
			f(y.events)
			cancel()
			return nil
		},
	), blackHole{}, Options{DisableWatchList: true, PageSize: 1})
	if err != nil {
		tb.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		tb.Fatal(err)
	}
}

// batch is n events, whose versions are set by number.
func batch(n int) []source.Event[*thing] {
	events := make([]source.Event[*thing], n)
	for i := range events {
		events[i] = event(source.Modified, "o"+strconv.Itoa(i), "1")
	}
	return events
}

// versions are written ahead, so that making them is not measured.
func versions(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(1_000_000 + i)
	}
	return all
}

func TestALiveEventCostsTheReflectorNoAllocation(t *testing.T) {
	all := versions(10 * testkit.AllocsCalls(200))
	feed(t, func(yield func([]source.Event[*thing]) error) {
		b, i := batch(10), 0
		n := testkit.Allocs(200, func() {
			for j := range b {
				b[j].ResourceVersion = all[i]
				i++
			}
			if err := yield(b); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("a batch of ten costs %v allocations", n)
		}
	})
}

// BenchmarkLiveEvent is what one event costs between source and sink.
func BenchmarkLiveEvent(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run("batch="+strconv.Itoa(size), func(b *testing.B) {
			all := versions(b.N + size)
			events := batch(size)
			b.ReportAllocs()
			feed(b, func(yield func([]source.Event[*thing]) error) {
				b.ResetTimer()
				for i := 0; i < b.N; i += size {
					for j := range events {
						events[j].ResourceVersion = all[i+j]
					}
					if err := yield(events); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}
