package cache

import (
	"bytes"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// An InformerSynced is a function, and cannot be asked which informer it is
// about. To describe a failed wait better than by "the second of three
// functions", each call of such a function by a wait is a question. If the
// function calls HasSynced of an informer or handler of this package, on the
// same goroutine, and that returns false, its checker is added to the question.
// Only the call itself connects it with the wait, so questions are found by
// goroutine.
//
// No lock is held while a function of the program is called, and no function is
// called that a wait would not call anyway.

// question is one call of an InformerSynced.
type question struct {
	function InformerSynced
	// said holds the checkers of those that returned false; at most maxSaid.
	// Only the goroutine that asks uses it.
	said []func() DoneChecker
}

// maxSaid is how many answers a question keeps: the first ones describe a
// function that stands for more informers well enough.
const maxSaid = 16

// questions are those that are being asked, by goroutine. asked counts them, so
// that a HasSynced outside of any costs only one load.
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

// saysNo adds c to the question that this goroutine is asking, if any.
// HasSynced of c's informer or handler is about to return false.
func saysNo(c func() DoneChecker) {
	if asked.Load() == 0 {
		return
	}
	if q, ok := questions.Load(goroutine()); ok {
		q.(*question).answer(c)
	}
}

// notSynced describes those that returned false, with what they are doing and
// what failed last, or names the function if none of this package did.
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

// goroutine returns the name of the caller's goroutine, "goroutine 7", as the
// runtime prints it at the head of a stack. It costs about a microsecond.
func goroutine() string {
	var head [64]byte
	name, _, _ := bytes.Cut(head[:runtime.Stack(head[:], false)], []byte(" ["))
	return string(name)
}
