package cache

import (
	"bytes"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// An InformerSynced is a function, and cannot be asked what it speaks of. To
// say more of a wait that failed than "the second of three functions", each
// call of such a function by a wait is a question: informers and handlers of
// this package whose HasSynced is called in the course of it, on the same
// goroutine, and says no, leave their checker there. Nothing but the call
// itself connects a wait with them, so questions are found by goroutine.
//
// No lock is held while a function of the program is called, and none is called
// that a wait would not call anyway.

// question is one call of an InformerSynced.
type question struct {
	function InformerSynced
	// said are the checkers of those who said no; at most maxSaid. Only the
	// goroutine that asks touches it.
	said []func() DoneChecker
}

// maxSaid is how many answers a question keeps: a function that stands for
// more informers than that is described well enough by the first.
const maxSaid = 16

// questions are those that are being asked, by goroutine. asked counts them, so
// that a HasSynced outside of any pays for no more than one load.
var (
	questions sync.Map // goroutine's name to *question
	asked     atomic.Int64
)

// ask calls the function, and collects the informers that have not synced.
func (q *question) ask() bool {
	q.said = q.said[:0]
	here := goroutine()
	outer, nested := questions.Swap(here, q)
	asked.Add(1)
	defer func() {
		asked.Add(-1)
		if !nested {
			questions.Delete(here)
			return
		}
		// The function waited for caches itself.
		questions.Store(here, outer)
		for _, c := range q.said {
			outer.(*question).answer(c)
		}
	}()
	return q.function()
}

func (q *question) answer(c func() DoneChecker) {
	if len(q.said) < maxSaid {
		q.said = append(q.said, c)
	}
}

// saysNo answers the question in whose course it is called, if it is: HasSynced
// of c is about to return false.
func saysNo(c func() DoneChecker) {
	if asked.Load() == 0 {
		return
	}
	if q, ok := questions.Load(goroutine()); ok {
		q.(*question).answer(c)
	}
}

// notSynced names those who said no, with what they are doing and what failed
// last, or the function if nobody of this package did.
func (q *question) notSynced() []string {
	if len(q.said) == 0 {
		return []string{runtime.FuncForPC(reflect.ValueOf(q.function).Pointer()).Name()}
	}
	var out []string
	for _, c := range q.said {
		out = append(out, notDone(c()))
	}
	return out
}

// goroutine is the name of the caller's goroutine, "goroutine 7", as the
// runtime prints it at the head of a stack. It costs about a microsecond.
func goroutine() string {
	var head [64]byte
	name, _, _ := bytes.Cut(head[:runtime.Stack(head[:], false)], []byte(" ["))
	return string(name)
}
