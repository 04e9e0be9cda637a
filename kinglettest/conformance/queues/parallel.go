package queues

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func parallelRow() row {
	return row{
		ID:    "parallelize",
		Needs: []string{"ParallelizeUntil"},
		Tests: []test{
			{Sentence: "so many pieces are done at a time as there are workers", Run: parallelWorkers},
			{Sentence: "no piece begins after the context ends", Run: parallelCancelled},
			{Sentence: "it may go without a context", Run: parallelNoContext},
			{Sentence: "no pieces or no workers do nothing", Run: parallelNothing},
			{Sentence: "a piece that panics is reported, and ends its worker", Run: parallelPanic},
		},
	}
}

func parallelWorkers(t *testing.T, im Implementation) {
	for _, c := range []struct{ workers, pieces, chunk, atOnce int }{{4, 100, 0, 4}, {8, 3, 0, 3}, {8, 30, 10, 3}} {
		var now, most atomic.Int32
		began := time.Now()
		im.ParallelizeUntil(t.Context(), c.workers, c.pieces, func(int) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			testbubble.Pass(time.Second)
			now.Add(-1)
		}, c.chunk)
		equal(t, fmt.Sprintf("%+v at a time", c), most.Load(), int32(c.atOnce))
		equal(t, fmt.Sprintf("%+v takes", c), time.Since(began), time.Duration(c.pieces/c.atOnce)*time.Second)
	}
}

func parallelCancelled(t *testing.T, im Implementation) {
	for _, chunk := range []int{0, 10} {
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int32
		returned := going(func() {
			im.ParallelizeUntil(ctx, 2, 100, func(int) {
				n.Add(1)
				testbubble.Pass(time.Second)
			}, chunk)
		})
		testbubble.Elapse(2500 * time.Millisecond)
		equal(t, "pieces", n.Load(), 6)
		cancel()
		equal(t, "returned while pieces are being done", returned(), false)
		testbubble.Elapse(time.Second)
		equal(t, "returned", returned(), true)
		equal(t, "pieces", n.Load(), 6)
	}
}

func parallelNoContext(t *testing.T, im Implementation) {
	var n atomic.Int32
	im.ParallelizeUntil(nil, 2, 10, func(int) { n.Add(1) }, 0)
	equal(t, "pieces", n.Load(), 10)
}

func parallelNothing(t *testing.T, im Implementation) {
	never := func(piece int) { t.Errorf("piece %d is done", piece) }
	im.ParallelizeUntil(t.Context(), 2, 0, never, 0)
	im.ParallelizeUntil(t.Context(), 0, 10, never, 0)
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "negative WaitGroup counter") {
			t.Errorf("panic %q", p)
		}
	}()
	im.ParallelizeUntil(t.Context(), -1, 10, never, 0)
}

func parallelPanic(t *testing.T, im Implementation) {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers }()
	var panics, n atomic.Int32
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, p any) {
		if p == "it fell over" {
			panics.Add(1)
		}
	}}
	im.ParallelizeUntil(t.Context(), 2, 10, func(piece int) {
		n.Add(1)
		testbubble.Pass(time.Second)
		if piece == 3 {
			panic("it fell over")
		}
	}, 0)
	synctest.Wait()
	equal(t, "panics", panics.Load(), 1)
	equal(t, "pieces", n.Load(), 10)
}
