package fifo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

func newDelta() *fifo.DeltaFIFO[string, object] {
	return fifo.NewDeltaFIFO(keyOf, fifo.Options[string, object]{})
}

// popped is how a Pop in another goroutine ended.
type popped struct {
	item object
	err  error
}

// goPop pops in another goroutine.
func goPop(ctx context.Context, f *fifo.FIFO[string, object], process fifo.ProcessFunc[object]) <-chan popped {
	done := make(chan popped, 1)
	go func() {
		item, err := f.Pop(ctx, process)
		done <- popped{item, err}
	}()
	return done
}

// ended fails the test if what done stands for is not over when all goroutines
// of the bubble wait.
func ended[V any](t *testing.T, done <-chan V) (v V) {
	t.Helper()
	synctest.Wait()
	select {
	case v = <-done:
	default:
		t.Fatal("still waits")
	}
	return v
}

func waits[V any](t *testing.T, done <-chan V) {
	t.Helper()
	synctest.Wait()
	select {
	case v := <-done:
		t.Fatalf("does not wait, but returned %v", v)
	default:
	}
}

func TestPopWaitsUntilThereIsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		done := goPop(t.Context(), f, nil)
		waits(t, done)
		_ = f.Add(object{key: "a", version: 1})
		if got := ended(t, done); got.item.version != 1 || got.err != nil {
			t.Fatal(got)
		}
	})
}

// None of the process functions returns before all of them run.
func TestEveryWaitingPopGetsOneOfAReplaceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		started, release := make(chan string, 5), make(chan struct{})
		var all []<-chan popped
		for range 5 {
			all = append(all, goPop(t.Context(), f, func(o object, _ bool) error {
				started <- o.key
				<-release
				return nil
			}))
		}
		synctest.Wait()
		var list []object
		for i := range 5 {
			list = append(list, object{key: keyName(i), version: 1})
		}
		_ = f.Replace(list)
		synctest.Wait()
		if len(started) != 5 {
			t.Errorf("%d of 5 have started", len(started))
		}
		close(release)
		for _, done := range all {
			ended(t, done)
		}
	})
}

func TestCloseWakesEveryWaitingPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		var all []<-chan popped
		for range 5 {
			all = append(all, goPop(t.Context(), f, nil))
		}
		synctest.Wait()
		f.Close()
		f.Close()
		for _, done := range all {
			if got := ended(t, done); !errors.Is(got.err, fifo.ErrClosed) {
				t.Fatal(got)
			}
		}
		if !f.IsClosed() {
			t.Fatal("IsClosed is false")
		}
	})
}

func TestAClosedQueueIsDrainedBeforePopSaysSo(t *testing.T) {
	f := newDelta()
	_ = f.Add(object{key: "a", version: 1})
	f.Close()
	_ = f.Add(object{key: "b", version: 1})
	for _, want := range []string{"a", "b"} {
		if item, err := f.Pop(t.Context(), nil); item.Key != want || err != nil {
			t.Fatalf("%v, %v, want %s", item, err, want)
		}
	}
	if _, err := f.Pop(t.Context(), nil); !errors.Is(err, fifo.ErrClosed) {
		t.Fatal(err)
	}
}

func TestPopEndsWithItsContextAndSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errProcess)
		defer cancel()
		start := time.Now()
		done := goPop(ctx, f, nil)
		waits(t, done)
		if got := <-done; !errors.Is(got.err, errProcess) {
			t.Fatal(got)
		}
		if time.Since(start) != time.Hour {
			t.Fatal("ended after", time.Since(start))
		}
		_ = f.Add(object{key: "a", version: 1})
		if _, err := f.Pop(ctx, nil); !errors.Is(err, errProcess) || f.Len() != 1 {
			t.Fatalf("Pop after the end of its context: %v, %d left", err, f.Len())
		}
	})
}

// Whoever gives up waiting must not take the only wake-up along.
func TestAnAddReachesSomebodyWhateverTheOthersContextsDo(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			f := fifo.NewFIFO(keyOf)
			ctx, cancel := context.WithCancel(t.Context())
			givesUp := goPop(ctx, f, nil)
			stays := goPop(t.Context(), f, nil)
			synctest.Wait()
			go cancel()
			go func() { _ = f.Add(object{key: "a", version: 1}) }()
			if first := ended(t, givesUp); first.err == nil {
				_ = f.Add(object{key: "b", version: 1})
			}
			if got := ended(t, stays); got.err != nil {
				t.Fatal(got)
			}
		})
	}
}

func TestAKeyIsNeverInTwoHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		_ = f.Add(object{key: "a", version: 1})
		release := make(chan struct{})
		first := goPop(t.Context(), f, func(object, bool) error { <-release; return nil })
		synctest.Wait()
		_ = f.Add(object{key: "a", version: 2})
		second := goPop(t.Context(), f, nil)
		waits(t, second)
		_ = f.Add(object{key: "b", version: 3})
		if got := ended(t, second); got.item.key != "b" {
			t.Fatalf("popped %v while a is in flight, want b, which came later but is free", got)
		}
		third := goPop(t.Context(), f, nil)
		waits(t, third)
		f.Close() // a is to come
		waits(t, third)
		close(release)
		ended(t, first)
		if got := ended(t, third); got.item.version != 2 || got.err != nil {
			t.Fatal(got)
		}
	})
}

func TestCloseWakesWhoWaitsForAKeyInFlightOnceItIsPopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		_ = f.Add(object{key: "a", version: 1})
		release := make(chan struct{})
		first := goPop(t.Context(), f, func(object, bool) error { <-release; return nil })
		synctest.Wait()
		_ = f.Add(object{key: "a", version: 2})
		f.Close()
		waiting := make(chan popped, 4)
		for range 4 {
			go func() {
				item, err := f.Pop(t.Context(), nil)
				waiting <- popped{item, err}
			}()
		}
		waits(t, waiting)
		close(release)
		ended(t, first)
		items := 0
		for range 4 {
			switch got := ended(t, waiting); {
			case got.err == nil:
				items++
			case !errors.Is(got.err, fifo.ErrClosed):
				t.Fatal(got)
			}
		}
		if items != 1 {
			t.Fatalf("%d of 4 got the object, want 1", items)
		}
	})
}

func TestPopBatchDoesNotWaitForMoreThanOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewJournal(keyOf, fifo.Options[string, object]{})
		done := make(chan int, 1)
		go func() {
			items, _ := f.PopBatch(t.Context(), 10, nil)
			done <- len(items)
		}()
		waits(t, done)
		_ = f.Add(object{key: "a", version: 1})
		if n := ended(t, done); n != 1 {
			t.Fatal(n)
		}
	})
}

func TestPopBatchEndsWithItsContextAndWithTheQueue(t *testing.T) {
	f := fifo.NewJournal(keyOf, fifo.Options[string, object]{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errProcess)
	if _, err := f.PopBatch(ctx, 1, nil); !errors.Is(err, errProcess) {
		t.Fatal(err)
	}
	f.Close()
	if _, err := f.PopBatch(t.Context(), 3, nil); !errors.Is(err, fifo.ErrClosed) {
		t.Fatal(err)
	}
}

func TestWritersDoNotWaitForProcessFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		_ = f.Add(object{key: "a", version: 1})
		release := make(chan struct{})
		done := goPop(t.Context(), f, func(object, bool) error { <-release; return nil })
		synctest.Wait()
		wrote := make(chan error, 1)
		go func() {
			_ = f.Replace([]object{{key: "b", version: 2}})
			wrote <- f.Add(object{key: "a", version: 3})
		}()
		if err := ended(t, wrote); err != nil {
			t.Fatal(err)
		}
		close(release)
		ended(t, done)
	})
}

func TestSyncedOnlyAfterTheLastProcessFunctionOfTheFirstBatchReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fifo.NewFIFO(keyOf)
		_ = f.Replace([]object{{key: "a", version: 1}, {key: "b", version: 1}})
		_ = f.Add(object{key: "c", version: 1})
		release := make(chan struct{})
		slow := goPop(t.Context(), f, func(_ object, initial bool) error {
			<-release
			if !initial {
				t.Error("a is not initial")
			}
			return nil
		})
		synctest.Wait()
		_, _ = f.Pop(t.Context(), func(_ object, initial bool) error {
			if !initial {
				t.Error("b is not initial")
			}
			return nil
		})
		_, _ = f.Pop(t.Context(), func(o object, initial bool) error {
			if initial {
				t.Errorf("%v is initial, though it came after the first batch", o)
			}
			return nil
		})
		waits(t, f.Synced())
		if f.HasSynced() {
			t.Error("synced while a is in flight")
		}
		close(release)
		ended(t, slow)
		ended(t, f.Synced())
		if !f.HasSynced() {
			t.Error("not synced")
		}
	})
}
