package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kw "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// side is what a constructor is given on one side: ours, or client-go's.
type side struct {
	clock   *testingclock.FakeClock
	metrics *recorder
	order   *stack
}

func newSide() side {
	return side{testingclock.NewFakeClock(time.Now()), newRecorder(), &stack{}}
}

// stack is an order, last in, first out, that records its calls. It has no lock.
type stack struct{ items, calls []string }

func (s *stack) Touch(item string) { s.calls = append(s.calls, "touch "+item) }
func (s *stack) Len() int          { return len(s.items) }

func (s *stack) Push(item string) {
	s.calls, s.items = append(s.calls, "push "+item), append(s.items, item)
}

func (s *stack) Pop() string {
	item := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	s.calls = append(s.calls, "pop "+item)
	return item
}

func text(item string) string { return item }
func anyItem(item string) any { return item }

// What client-go's own tests, which `make peers-cache` runs over this package, think of, is
// theirs. Here are random operations on what each constructor makes.
func TestAQueueOfEachConstructorDoesWhatClientGosDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			a, b := newSide(), newSide()
			twins(t, r, "New", anyItem, a, b, New(), kw.New())
			twins(t, r, "NewNamed", anyItem, a, b, NewNamed("named"), kw.NewNamed("named"))
			twins(t, r, "NewWithConfig", anyItem, a, b,
				NewWithConfig(QueueConfig{Name: "config", MetricsProvider: a.metrics}), kw.NewWithConfig(QueueConfig{Name: "config", MetricsProvider: b.metrics}))
			twins(t, r, "NewTyped", text, a, b, NewTyped[string](), kw.NewTyped[string]())
			config := func(s side, q kw.Queue[string]) kw.TypedQueueConfig[string] {
				return kw.TypedQueueConfig[string]{Name: "typed", MetricsProvider: s.metrics, Clock: s.clock, Queue: q}
			}
			twins(t, r, "NewTypedWithConfig", text, a, b,
				NewTypedWithConfig(config(a, DefaultQueue[string]())), kw.NewTypedWithConfig(config(b, kw.DefaultQueue[string]())))
			// Without a name it has no metrics.
			twins(t, r, "NewTypedWithConfig with an order", text, a, b,
				NewTypedWithConfig(kw.TypedQueueConfig[string]{MetricsProvider: a.metrics, Queue: a.order}),
				kw.NewTypedWithConfig(kw.TypedQueueConfig[string]{MetricsProvider: b.metrics, Queue: b.order}))

			twins(t, r, "NewDelayingQueue", anyItem, a, b, NewDelayingQueue(), kw.NewDelayingQueue())
			twins(t, r, "NewDelayingQueueWithConfig", anyItem, a, b,
				NewDelayingQueueWithConfig(DelayingQueueConfig{Name: "delaying", MetricsProvider: a.metrics}),
				kw.NewDelayingQueueWithConfig(DelayingQueueConfig{Name: "delaying", MetricsProvider: b.metrics}))
			twins(t, r, "NewDelayingQueueWithCustomClock", anyItem, a, b,
				NewDelayingQueueWithCustomClock(a.clock, "clock"), kw.NewDelayingQueueWithCustomClock(b.clock, "clock"))
			twins(t, r, "NewDelayingQueueWithCustomQueue", anyItem, a, b,
				NewDelayingQueueWithCustomQueue(New(), "queue"), kw.NewDelayingQueueWithCustomQueue(kw.New(), "queue"))
			twins(t, r, "NewNamedDelayingQueue", anyItem, a, b, NewNamedDelayingQueue("named"), kw.NewNamedDelayingQueue("named"))
			twins(t, r, "NewTypedDelayingQueue", text, a, b, NewTypedDelayingQueue[string](), kw.NewTypedDelayingQueue[string]())
			twins(t, r, "TypedNewDelayingQueue", text, a, b, TypedNewDelayingQueue[string](), kw.TypedNewDelayingQueue[string]())
			delaying := func(s side, below kw.TypedInterface[string]) kw.TypedDelayingQueueConfig[string] {
				return kw.TypedDelayingQueueConfig[string]{Name: "typed delaying", MetricsProvider: s.metrics, Clock: s.clock, Queue: below}
			}
			twins(t, r, "NewTypedDelayingQueueWithConfig", text, a, b,
				NewTypedDelayingQueueWithConfig(delaying(a, nil)), kw.NewTypedDelayingQueueWithConfig(delaying(b, nil)))
			twins(t, r, "NewTypedDelayingQueueWithConfig over another queue", text, a, b,
				NewTypedDelayingQueueWithConfig(delaying(a, NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: a.order}))),
				kw.NewTypedDelayingQueueWithConfig(delaying(b, kw.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: b.order}))))

			const base, most = 20_000_003, 3_000_000_019 // so that no two items are due at once
			own := func() RateLimiter { return NewItemExponentialFailureRateLimiter(base, most) }
			theirs := func() RateLimiter { return kw.NewItemExponentialFailureRateLimiter(base, most) }
			twins(t, r, "NewRateLimitingQueue", anyItem, a, b, NewRateLimitingQueue(own()), kw.NewRateLimitingQueue(theirs()))
			twins(t, r, "NewNamedRateLimitingQueue", anyItem, a, b, NewNamedRateLimitingQueue(own(), "named"), kw.NewNamedRateLimitingQueue(theirs(), "named"))
			twins(t, r, "NewRateLimitingQueueWithConfig", anyItem, a, b,
				NewRateLimitingQueueWithConfig(own(), RateLimitingQueueConfig{Name: "limiting", MetricsProvider: a.metrics}),
				kw.NewRateLimitingQueueWithConfig(theirs(), RateLimitingQueueConfig{Name: "limiting", MetricsProvider: b.metrics}))
			twins(t, r, "NewRateLimitingQueueWithDelayingInterface", anyItem, a, b,
				NewRateLimitingQueueWithDelayingInterface(NewDelayingQueue(), own()),
				kw.NewRateLimitingQueueWithDelayingInterface(kw.NewDelayingQueue(), theirs()))
			twins(t, r, "NewTypedRateLimitingQueue", text, a, b,
				NewTypedRateLimitingQueue(NewTypedItemExponentialFailureRateLimiter[string](base, most)),
				kw.NewTypedRateLimitingQueue(kw.NewTypedItemExponentialFailureRateLimiter[string](base, most)))
			limiting := func(s side) kw.TypedRateLimitingQueueConfig[string] {
				return kw.TypedRateLimitingQueueConfig[string]{Name: "typed limiting", MetricsProvider: s.metrics, Clock: s.clock}
			}
			twins(t, r, "NewTypedRateLimitingQueueWithConfig", text, a, b,
				NewTypedRateLimitingQueueWithConfig(NewTypedItemExponentialFailureRateLimiter[string](base, most), limiting(a)),
				kw.NewTypedRateLimitingQueueWithConfig(kw.NewTypedItemExponentialFailureRateLimiter[string](base, most), limiting(b)))
		})
	}
}

// twins does the same on our queue and client-go's, until and after both are shut down.
// What the differences are about does not occur. See differences_test.go.
func twins[T comparable](t *testing.T, r *rand.Rand, name string, of func(string) T, a, b side, q, p kw.TypedInterface[T]) {
	both := func(do func(kw.TypedInterface[T]) any) any {
		t.Helper()
		got := do(q)
		synctest.Wait()
		want := do(p)
		synctest.Wait()
		if got != want {
			t.Fatalf("%s: %v, with client-go's %v", name, got, want)
		}
		return got
	}
	length := func(q kw.TypedInterface[T]) any { return fmt.Sprint(q.Len(), " ", q.ShuttingDown()) }
	processing := map[T]bool{}
	get := func(q kw.TypedInterface[T]) any { item, shutdown := q.Get(); return fmt.Sprint(item, " ", shutdown) }
	next := func() {
		if q.Len() > 0 {
			item, _, _ := strings.Cut(both(get).(string), " ")
			processing[of(item)] = true
		}
	}
	done := func() {
		item := of("nobody's")
		if list := slices.Collect(maps.Keys(processing)); len(list) > 0 && r.IntN(20) > 0 {
			item = list[r.IntN(len(list))]
		}
		both(func(q kw.TypedInterface[T]) any { q.Done(item); return nil })
		delete(processing, item)
	}
	step := func() {
		item, d := of(fmt.Sprint("item", r.IntN(12))), time.Duration(r.IntN(1e9))
		_, delays := q.(kw.TypedDelayingInterface[T])
		_, limits := q.(kw.TypedRateLimitingInterface[T])
		switch op := r.IntN(100); {
		case op < 25 && delays:
			d -= 1e8 // a tenth of them are not in the future
			both(func(q kw.TypedInterface[T]) any { q.(kw.TypedDelayingInterface[T]).AddAfter(item, d); return nil })
		case op < 35 && limits:
			both(func(q kw.TypedInterface[T]) any {
				q.(kw.TypedRateLimitingInterface[T]).AddRateLimited(item)
				return nil
			})
		case op < 40 && limits:
			both(func(q kw.TypedInterface[T]) any {
				l := q.(kw.TypedRateLimitingInterface[T])
				n := l.NumRequeues(item)
				l.Forget(item)
				return n
			})
		case op < 60:
			both(func(q kw.TypedInterface[T]) any { q.Add(item); return nil })
		case op < 75:
			next()
		case op < 90:
			done()
		default:
			testbubble.Elapse(d / 2)
			a.clock.Step(d / 2)
			b.clock.Step(d / 2)
			synctest.Wait()
		}
		testbubble.Elapse(1) // or what is added next might be due at the same moment
		a.clock.Step(1)
		b.clock.Step(1)
		both(length)
		a.metrics.same(t, name, b.metrics)
	}
	for range 500 {
		step()
	}
	if _, delays := q.(kw.TypedDelayingInterface[T]); delays {
		both(func(q kw.TypedInterface[T]) any {
			q.(kw.TypedDelayingInterface[T]).AddAfter(of("never"), math.MaxInt64)
			return nil
		})
	}
	var drained [2]atomic.Bool
	if drains := r.IntN(2) == 0; drains {
		for i, q := range []kw.TypedInterface[T]{q, p} {
			go func() { q.ShutDownWithDrain(); drained[i].Store(true) }()
		}
		for n := r.IntN(50); ; n-- {
			synctest.Wait()
			if drained[0].Load() != drained[1].Load() {
				t.Fatalf("%s: a drain has ended: %v, with client-go's %v", name, drained[0].Load(), drained[1].Load())
			}
			if n == 0 || drained[0].Load() {
				break
			}
			step()
		}
	}
	both(func(q kw.TypedInterface[T]) any { q.ShutDown(); return nil })
	for range 20 {
		step()
	}
	for q.Len() > 0 {
		next()
	}
	both(get)
	for len(processing) > 0 {
		done()
	}
	both(length)
	testbubble.Elapse(time.Hour)
	a.clock.Step(time.Hour)
	b.clock.Step(time.Hour)
	synctest.Wait()
	a.metrics.same(t, name, b.metrics)
	if !slices.Equal(a.order.calls, b.order.calls) {
		t.Fatalf("%s: the order is told\n%q, with client-go's\n%q", name, a.order.calls, b.order.calls)
	}
	*a.order, *b.order = stack{}, stack{}
}

// same compares what the queues of two providers have counted since the last call. Several
// lines of one moment, and the sum of several times, have no order.
func (r *recorder) same(t *testing.T, name string, other *recorder) {
	t.Helper()
	take := func(r *recorder) []string {
		r.mu.Lock()
		defer r.mu.Unlock()
		lines := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(r.lines))...)))
		clear(r.lines)
		return lines
	}
	if !slices.EqualFunc(take(r), take(other), func(a, b string) bool {
		var x, y float64
		_, errA := fmt.Sscanf(a, "unfinished %g", &x)
		_, errB := fmt.Sscanf(b, "unfinished %g", &y)
		return a == b || errA == nil && errB == nil && math.Abs(x-y) < 1e-6
	}) {
		t.Fatalf("%s: the metrics are told otherwise", name)
	}
}

func TestAnItemThatIsNoMapKeyPanicsAsClientGosDoes(t *testing.T) {
	for name, q := range map[string]kw.Interface{"ours": New(), "client-go's": kw.New()} {
		q.Add("a")
		for _, f := range []func(any){q.Add, q.Done} {
			if p := panicked(func() { f([]int{1}) }); !strings.Contains(p, "hash of unhashable type") || !strings.Contains(p, "[]int") {
				t.Errorf("%s: panic %q", name, p)
			}
		}
		if item, _ := q.Get(); item != "a" || q.Len() != 0 {
			t.Errorf("%s: got %v", name, item)
		}
		q.ShutDown()
	}
}

func panicked(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

func TestLimitersWaitAsLongAsClientGos(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	const ms, hour = time.Millisecond, time.Hour
	synctest.Test(t, func(t *testing.T) {
		limiters(t, r, "exponential", anyItem, NewItemExponentialFailureRateLimiter(ms, 10*ms), kw.NewItemExponentialFailureRateLimiter(ms, 10*ms))
		for _, base := range []time.Duration{3, 5 * ms, time.Minute} {
			limiters(t, r, "typed exponential", text,
				NewTypedItemExponentialFailureRateLimiter[string](base, 1000*hour), kw.NewTypedItemExponentialFailureRateLimiter[string](base, 1000*hour))
		}
		limiters(t, r, "fast and slow", anyItem, NewItemFastSlowRateLimiter(5*ms, 10*time.Second, 3), kw.NewItemFastSlowRateLimiter(5*ms, 10*time.Second, 3))
		limiters(t, r, "typed fast and slow", text,
			NewTypedItemFastSlowRateLimiter[string](5*ms, 10*time.Second, 3), kw.NewTypedItemFastSlowRateLimiter[string](5*ms, 10*time.Second, 3))
		limiters(t, r, "items", anyItem, DefaultItemBasedRateLimiter(), kw.DefaultItemBasedRateLimiter())
		limiters(t, r, "typed items", text, DefaultTypedItemBasedRateLimiter[string](), kw.DefaultTypedItemBasedRateLimiter[string]())
		limiters(t, r, "controllers", anyItem, DefaultControllerRateLimiter(), kw.DefaultControllerRateLimiter())
		limiters(t, r, "typed controllers", text, DefaultTypedControllerRateLimiter[string](), kw.DefaultTypedControllerRateLimiter[string]())
	})
}

// limiters asks two limiters for the same items. No item fails again before its wait is
// over, nor much later: see the differences.
func limiters[T comparable](t *testing.T, r *rand.Rand, name string, of func(string) T, l, k kw.TypedRateLimiter[T]) {
	due := map[string]time.Time{}
	for i := range 600 {
		item := fmt.Sprint("new", i) // of a bucket, a hundred have tokens at once
		if i%3 > 0 {
			item = fmt.Sprint(r.IntN(3))
		}
		if wait := time.Until(due[item]); wait > 0 && strings.HasSuffix(name, "controllers") {
			testbubble.Pass(wait)
		}
		switch {
		case r.IntN(40) == 0, l.NumRequeues(of(item)) > 9 && strings.HasSuffix(name, "controllers"):
			l.Forget(of(item))
			k.Forget(of(item))
		default:
			got, want := l.When(of(item)), k.When(of(item))
			if got != want || l.NumRequeues(of(item)) != k.NumRequeues(of(item)) {
				t.Fatalf("%s: call %d, of %s: %v after %d, with client-go's %v after %d",
					name, i, item, got, l.NumRequeues(of(item)), want, k.NumRequeues(of(item)))
			}
			due[item] = time.Now().Add(got)
		}
	}
}

// The last of these cases panics on purpose.
func TestPiecesAreDoneAsClientGoDoesThem(t *testing.T) {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers }()
	utilruntime.ReallyCrash = false
	var panics atomic.Int32
	utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { panics.Add(1) }}
	for _, c := range []struct {
		workers, pieces, chunk int
		cancel                 time.Duration
		panics                 int
		want                   string
	}{
		{4, 100, 1, 0, -1, "25s, 100 pieces, 4 at once, 0 panics"},
		{8, 3, 1, 0, -1, "1s, 3 pieces, 3 at once, 0 panics"},
		{8, 30, 10, 0, -1, "10s, 30 pieces, 3 at once, 0 panics"},
		{2, 100, 1, 2500 * time.Millisecond, -1, "3s, 6 pieces, 2 at once, 0 panics"},
		{2, 100, 10, 2500 * time.Millisecond, -1, "3s, 6 pieces, 2 at once, 0 panics"},
		{2, 0, 1, 0, -1, "0s, 0 pieces, 0 at once, 0 panics"},
		{0, 10, 1, 0, -1, "0s, 0 pieces, 0 at once, 0 panics"},
		{-1, 10, 1, 0, -1, "sync: negative WaitGroup counter"},
		{2, 10, 1, 0, 3, "8s, 10 pieces, 2 at once, 1 panics"},
	} {
		for name, do := range map[string]func(context.Context, int, int, kw.DoWorkPieceFunc, int){
			"ours": func(ctx context.Context, workers, pieces int, do kw.DoWorkPieceFunc, chunk int) {
				ParallelizeUntil(ctx, workers, pieces, do, WithChunkSize(chunk))
			},
			"client-go's": func(ctx context.Context, workers, pieces int, do kw.DoWorkPieceFunc, chunk int) {
				kw.ParallelizeUntil(ctx, workers, pieces, do, kw.WithChunkSize(chunk))
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				var ctx context.Context // it may be nil, if no piece panics
				if c.panics >= 0 {
					ctx = t.Context()
				}
				if c.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(t.Context(), c.cancel)
					defer cancel()
				}
				panics.Store(0)
				var n, now, most atomic.Int32
				began := time.Now()
				got := panicked(func() {
					do(ctx, c.workers, c.pieces, func(piece int) {
						n.Add(1)
						if busy := now.Add(1); busy > most.Load() {
							most.Store(busy)
						}
						defer now.Add(-1)
						testbubble.Pass(time.Second)
						if piece == c.panics {
							panic("it fell over")
						}
					}, c.chunk)
				})
				took := time.Since(began)
				synctest.Wait()
				if got == "" {
					got = fmt.Sprintf("%v, %d pieces, %d at once, %d panics", took, n.Load(), most.Load(), panics.Load())
				}
				if got != c.want {
					t.Errorf("%s, %+v: %s", name, c, got)
				}
			})
		}
	}
}
