package cache

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// An InformerSynced is a function, and cannot be asked what it speaks of. To
// say more of a wait that failed than "one of three functions", the functions
// are called once more under a question, and what of this package is asked
// HasSynced in the course of it, and says no, says who it is. No other program
// flow than a failed wait pays more for it than one load of an atomic.

// question collects who says no.
type question struct{ said []string }

// asking is the question that is being asked. It is a global because nothing
// but the call itself connects WaitForCacheSync with the informers behind its
// functions.
var asking struct {
	mu  sync.Mutex // held while a question is asked
	now atomic.Pointer[question]
}

// notSynced says which of cacheSyncs return false: informers of this package
// with what they are doing and what failed last, others by function name.
func notSynced(cacheSyncs []InformerSynced) []string {
	asking.mu.Lock()
	defer asking.mu.Unlock()
	defer asking.now.Store(nil)
	var out []string
	for _, f := range cacheSyncs {
		q := &question{}
		asking.now.Store(q)
		if q.ask(f) {
			continue
		}
		if len(q.said) == 0 {
			q.said = append(q.said, runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name())
		}
		out = append(out, q.said...)
	}
	return out
}

// ask is the frame by which answers know that it is their caller who asks.
//
//go:noinline
func (q *question) ask(f InformerSynced) bool { return f() }

// saysNo answers the question that is being asked, if there is one and it is
// asked by the caller: HasSynced of c is about to return false.
func saysNo(c func() DoneChecker) {
	q := asking.now.Load()
	if q == nil || !calledBy("cache.(*question).ask") {
		return
	}
	q.said = append(q.said, notDone(c()))
}

// calledBy reports whether a function of that name is among the callers.
func calledBy(name string) bool {
	pcs := make([]uintptr, 64) // deeper than a HasSynced in a closure stands
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}
