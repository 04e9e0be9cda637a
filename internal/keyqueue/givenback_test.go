package keyqueue

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
)

// TestMemoryOfFailuresAndHeadStartsIsGivenBack counts what maps of the keys that
// failed hold after the failures are over.
func TestMemoryOfFailuresAndHeadStartsIsGivenBack(t *testing.T) {
	c := newCore(0, 0)
	errFailed := errors.New("failed")
	const keys = 200_000
	for i := range keys {
		c.add(0, c.table.hash(fmt.Sprint(i)), fmt.Sprint(i), AddOptions{})
	}
	for range keys {
		slot, key := c.takeKey(0)
		c.finish(0, c.table.hash(key), slot, 0, Result{Err: errFailed, After: time.Second, Head: time.Second})
	}
	full := heapBytes()
	now := int64(time.Minute)
	c.advance(now)
	for range keys {
		slot, key := c.takeKey(now)
		c.finish(now, c.table.hash(key), slot, 0, Result{})
	}
	c.add(now, c.table.hash("another"), "another", AddOptions{})
	left := heapBytes()
	c.failures, c.heads = nil, nil
	maps := left - min(left, heapBytes())
	runtime.KeepAlive(&c)
	if maps > 1<<20 {
		t.Errorf("of %d MB the maps hold %d MB without failures", full>>20, maps>>20)
	}
}
