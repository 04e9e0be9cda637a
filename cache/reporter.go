package cache

import (
	"sync"

	"k8s.io/klog/v2"
)

// maxReports is how many errors may be queued for reporting. More of them in
// the time that it takes to report that many, a second or so, say nothing
// new: they are counted, and each object is listed as quarantined.
const maxReports = 1024

// reporter hands errors to apimachinery's error handlers, on a goroutine that
// lives as long as there is something to report. The handlers pause a
// millisecond between two errors (and for years in a synctest bubble, whose
// clock is behind that of their last error), which must not hold up a list.
type reporter struct {
	mu   sync.Mutex
	idle sync.Cond // signalled when busy becomes false
	// The fields below are guarded by mu.

	waiting []func()
	left    int // how many were dropped since the last was reported
	busy    bool
}

func newReporter() *reporter {
	r := &reporter{}
	r.idle.L = &r.mu
	return r
}

// report calls say soon, unless too many are queued already. It does not
// block.
func (r *reporter) report(say func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) >= maxReports {
		r.left++
		return
	}
	r.waiting = append(r.waiting, say)
	if !r.busy {
		r.busy = true
		go r.work()
	}
}

func (r *reporter) work() {
	for {
		say, left := r.next()
		if left > 0 {
			klog.Background().Info("Errors came faster than they could be reported", "left", left)
		}
		if say == nil {
			return
		}
		say()
	}
}

// next returns the next function; if there is none, it returns nil and clears
// busy.
func (r *reporter) next() (say func(), left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, r.left = r.left, 0
	if len(r.waiting) == 0 {
		r.busy, r.waiting = false, nil
		r.idle.Broadcast()
		return nil, left
	}
	say, r.waiting = r.waiting[0], r.waiting[1:]
	return say, left
}

// wait blocks until nothing is queued to be reported.
func (r *reporter) wait() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.busy {
		r.idle.Wait()
	}
}
