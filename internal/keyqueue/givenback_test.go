package keyqueue

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// TestMemoryIsThatOfTheKeysThatAreThere has keys that run, fail and wait, and then
// succeed, and counts what the queue holds with few of them left, and with none.
func TestMemoryIsThatOfTheKeysThatAreThere(t *testing.T) {
	c := core[int]{}
	errFailed := errors.New("failed")
	const keys, few = 200_000, 100
	empty := heapBytes()
	for i := range keys {
		c.add(0, i, AddOptions{})
	}
	for range keys {
		r, _, _ := c.take(0)
		c.finish(0, r, Result{Err: errFailed, After: time.Second, Head: time.Second})
	}
	full := heapBytes() - empty
	now := int64(time.Minute)
	c.advance(now)
	for left := keys; left > 0; left-- {
		r, _, _ := c.take(now)
		c.finish(now, r, Result{})
		if left == few || left == 1 {
			if held := int64(heapBytes() - empty); held > 1<<20 {
				t.Errorf("of %d KB the queue holds %d KB for %d keys", full>>10, held>>10, left)
			}
		}
	}
	runtime.KeepAlive(&c)
}

func TestNoMoreThanTheLastKeysThatFailedForGoodAreRemembered(t *testing.T) {
	c := core[int]{}
	for i := range 2 * mostFailed {
		c.add(int64(i), i, AddOptions{})
		r, _, _ := c.take(int64(i))
		c.finish(int64(i), r, Result{Err: errors.New("failed"), Terminal: true})
	}
	for i := range 2 * mostFailed {
		if _, ok := c.records.entries[i]; ok != (i >= mostFailed) {
			t.Fatalf("key %d of %d is remembered: %v", i, 2*mostFailed, ok)
		}
	}
	if n := len(c.failures.entries); n != mostFailed {
		t.Errorf("%d failures of %d keys are remembered", n, mostFailed)
	}
}
