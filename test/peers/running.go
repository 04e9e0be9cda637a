package main

import (
	"strings"
	"sync"
	"time"
)

// running is which tests run, and since when.
type running struct {
	mu    sync.Mutex
	since map[testName]time.Time // guarded by mu
}

func (r *running) start(n testName) {
	if strings.Contains(n.test, "/") {
		return // The limit is for the whole test.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[testName]time.Time{}
	}
	r.since[n] = time.Now()
}

func (r *running) end(n testName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, n)
}

// longest returns for how long the test that was started first has been running.
func (r *running) longest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var longest time.Duration
	for _, t := range r.since {
		longest = max(longest, time.Since(t))
	}
	return longest
}

// watch calls tooLong once if a test runs for longer than the limit. The
// function that it returns ends that.
func (r *running) watch(limit time.Duration, tooLong func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if r.longest() > limit {
				tooLong()
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
