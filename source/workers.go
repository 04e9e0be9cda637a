package source

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

const (
	// minPerWorker is the fewest objects for each worker. Waking another core
	// costs as much as half an object, so it is done only where there is a
	// backlog: a read of 128 KiB brings 20 events of pods.
	minPerWorker = 8
	// workerChunk is how many objects a worker takes at a time, so that workers
	// rarely contend for the counter.
	workerChunk = 4
)

// workers decode the objects cut out of a stream, on all cores.
type workers[T any] struct {
	readers []*reader[T]
	// recent is what the readers share besides the table.
	recent *share.Recent
}

// reader returns the i-th reader.
func (w *workers[T]) reader(codec *codec[T], i int, held Held[T]) *reader[T] {
	for i >= len(w.readers) {
		w.readers = append(w.readers, &reader[T]{codec: codec})
	}
	r := w.readers[i]
	r.begin(held)
	if w.recent == nil && r.remembers() {
		w.recent = &share.Recent{}
	}
	r.session.Recent = w.recent
	return r
}

// each calls do once for every i below n, from several goroutines, the caller's
// among them, and returns when all calls have.
func (w *workers[T]) each(codec *codec[T], n int, held Held[T], do func(r *reader[T], i int)) {
	count := min(runtime.GOMAXPROCS(0), n/minPerWorker)
	if count <= 1 {
		r := w.reader(codec, 0, held)
		for i := range n {
			do(r, i)
		}
		r.session.Count()
		return
	}
	var next atomic.Int64
	work := func(r *reader[T]) {
		defer r.session.Count()
		for {
			i := int(next.Add(workerChunk)) - workerChunk
			if i >= n {
				return
			}
			for j := i; j < min(i+workerChunk, n); j++ {
				do(r, j)
			}
		}
	}
	var others sync.WaitGroup
	for i := 1; i < count; i++ {
		r := w.reader(codec, i, held)
		others.Go(func() { work(r) })
	}
	work(w.reader(codec, 0, held))
	others.Wait()
}

// release drops the readers' references to Held.
func (w *workers[T]) release() {
	for _, r := range w.readers {
		r.held = nil
	}
}
