package queues

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

func shutdownRow() row {
	return row{
		ID:    "shutdown",
		Needs: []string{"NewTyped"},
		Tests: []test{
			{Sentence: "what is added after it is dropped", Run: shutdownDropsAdds},
			{Sentence: "what was queued before it is handed out first", Run: shutdownHandsOut},
			{Sentence: "it ends every wait for an item", Run: shutdownWakes},
			{Sentence: "it does not wait for what is processed", Run: shutdownDoesNotWait},
			{Sentence: "it may come twice, and with drain after without", Run: shutdownTwice},
			{Sentence: "a drain waits until nothing is processed", Run: drainWaits},
			{Sentence: "a drain of a queue that processes nothing returns at once", Run: drainIdle},
			{Sentence: "what was added while it was processed is queued again in a drain", Run: drainDirty},
			{Sentence: "a shutdown ends a drain", Run: shutdownEndsDrain},
			{Sentence: "shutting down is reported from the first call on", Run: shutdownReported},
		},
	}
}

func shutdownDropsAdds(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	equal(t, "item", next(t, q), "a")
	q.ShutDown()
	q.Add("a")
	q.Add("c")
	equal(t, "length", q.Len(), 1)
	q.Done("a")
	same(t, "items", drained(t, q), "b")
	over(t, q)
}

func shutdownHandsOut(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	q.Add("c")
	equal(t, "item", next(t, q), "a")
	q.Add("a")
	q.ShutDown()
	equal(t, "item", next(t, q), "b")
	equal(t, "item", next(t, q), "c")
	over(t, q)
	q.Done("a")
	equal(t, "item", next(t, q), "a")
	over(t, q)
	over(t, q)
}

func shutdownWakes(t *testing.T, im Implementation) {
	q := im.NewTyped()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { over(t, q) })
	}
	synctest.Wait()
	q.ShutDown()
	wg.Wait()
}

func shutdownDoesNotWait(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	next(t, q)
	equal(t, "returned", going(q.ShutDown)(), true)
	q.Done("a")
}

func shutdownTwice(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.ShutDown()
	q.ShutDown()
	q.ShutDownWithDrain()
	q.ShutDown()
	over(t, q)
}

func drainWaits(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	next(t, q)
	next(t, q)
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	over(t, q)
	q.Done("a")
	equal(t, "returned with one of two done", returned(), false)
	q.Done("b")
	equal(t, "returned", returned(), true)
}

func drainIdle(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	equal(t, "returned", going(q.ShutDownWithDrain)(), true)
	q.Add("b")
	same(t, "items", drained(t, q), "a")
	over(t, q)
}

func drainDirty(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	next(t, q)
	next(t, q)
	q.Add("a")
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	over(t, q)
	q.Done("a")
	equal(t, "item", next(t, q), "a")
	q.Done("a")
	equal(t, "returned while another is processed", returned(), false)
	q.Done("b")
	equal(t, "returned", returned(), true)
	over(t, q)
}

func shutdownEndsDrain(t *testing.T, im Implementation) {
	q := im.NewTyped()
	for i := range 3 {
		q.Add(fmt.Sprint(i))
		next(t, q)
	}
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	q.ShutDown()
	equal(t, "returned", returned(), true)
}

func shutdownReported(t *testing.T, im Implementation) {
	q := im.NewTyped()
	equal(t, "before", q.ShuttingDown(), false)
	q.Add("a")
	next(t, q)
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	equal(t, "in a drain", q.ShuttingDown(), true)
	q.Done("a")
	equal(t, "returned", returned(), true)
	equal(t, "after it", q.ShuttingDown(), true)
	other := im.NewTyped()
	other.ShutDown()
	equal(t, "after a shutdown", other.ShuttingDown(), true)
}
