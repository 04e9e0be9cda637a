package testbubble

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestGoroutinesAreThoseOfTheBubble(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	go func() { <-end }() // of another test
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			// The goroutine of synctest.Test's caller is not in the bubble, its own is.
			before := Goroutines()
			wait := make(chan struct{})
			const many = 1000 // more than 64 KiB of stacks
			for range many {
				go func() { <-wait }()
			}
			synctest.Wait()
			if n := Goroutines() - before; n != many {
				t.Errorf("%d goroutines, want %d", n, many)
			}
			close(wait)
			synctest.Wait()
			if n := Goroutines(); n != before {
				t.Errorf("%d goroutines, %d before", n, before)
			}
		})
	}
}

func TestTimePassesInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Pass(time.Hour)
		if d := time.Since(began); d != time.Hour {
			t.Errorf("%v passed", d)
		}
	})
}

func TestOutsideABubbleTheyPanic(t *testing.T) {
	for name, call := range map[string]func(){
		"Goroutines": func() { Goroutines() },
		"Pass":       func() { Pass(time.Nanosecond) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
