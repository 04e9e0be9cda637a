package keyqueue

import (
	"fmt"
	"testing"
	"time"
)

// TestAClassPaysForItsRunsThoughNothingIsLeftOfItInBetween has a class with one
// key, whose runs are long and which is added again each time its run has ended,
// as a watch event of its own write would have it, beside a class with many keys.
func TestAClassPaysForItsRunsThoughNothingIsLeftOfItInBetween(t *testing.T) {
	c := newCore(0, 1)
	const long, short = 100 * time.Millisecond, time.Millisecond
	for i := range 20_000 {
		c.add(0, c.table.hash(fmt.Sprint(i)), fmt.Sprint(i), AddOptions{Class: "many"})
	}
	c.add(0, c.table.hash("one"), "one", AddOptions{Class: "one"})
	spent := map[string]time.Duration{}
	for now := int64(0); now < int64(10*time.Second); {
		slot, key := c.takeKey(now)
		class, took := "many", short
		if key == "one" {
			class, took = "one", long
		}
		now += int64(took)
		spent[class] += took
		c.finish(now, c.table.hash(key), slot, took, Result{})
		if key == "one" {
			c.add(now, c.table.hash("one"), "one", AddOptions{Class: "one"})
		}
	}
	if d := spent["one"] - spent["many"]; d.Abs() > 3*long {
		t.Errorf("spent %v", spent)
	}
}

func TestClassesWithoutKeysAreForgottenInTheEnd(t *testing.T) {
	c := newCore(0, 1)
	run := func(now int64, took time.Duration) {
		slot, key := c.takeKey(now)
		c.finish(now+int64(took), c.table.hash(key), slot, took, Result{})
	}
	c.add(0, c.table.hash("busy"), "busy", AddOptions{Class: "busy"}) // there is always somebody who waits
	most := 0
	for i := range 50_000 {
		c.add(int64(i), c.table.hash(fmt.Sprint(i)), fmt.Sprint(i), AddOptions{Class: fmt.Sprint(i)})
		run(int64(i), time.Millisecond)
		most = max(most, c.classes.names.used)
	}
	if most > 4096 {
		t.Errorf("%d classes at once were remembered", most)
	}
	for c.lenQueued() > 0 {
		run(60_000, time.Millisecond)
	}
	if n := c.classes.names.used; n > 0 {
		t.Errorf("%d classes are remembered by a queue without keys", n)
	}
}

func TestAQueueThatWasIdleOwesAndClaimsNothing(t *testing.T) {
	c := newCore(0, 1)
	c.add(0, c.table.hash("hog"), "hog", AddOptions{Class: "hog"})
	slot, _ := c.takeKey(0)
	c.finish(int64(time.Hour), c.table.hash("hog"), slot, time.Hour, Result{After: time.Second})
	now := int64(2 * time.Hour)
	for i := range 10 {
		c.add(now, c.table.hash(fmt.Sprint(i)), fmt.Sprint(i), AddOptions{Class: "other"})
	}
	c.advance(now)
	for i := range 11 {
		slot, key := c.takeKey(now)
		if key == "hog" {
			return
		}
		now += int64(time.Second)
		c.finish(now, c.table.hash(key), slot, time.Second, Result{})
		if i > 2 {
			t.Fatalf("the class pays for what it did while nobody waited")
		}
	}
}
