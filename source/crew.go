package source

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

const (
	// minShare is the fewest objects for each goroutine. To wake another core
	// costs as much as half an object, so it is only done where there is a
	// backlog: a read of 128 KiB brings 20 events of pods.
	minShare = 8
	// stint is how many objects are taken at a time, so that goroutines do not
	// meet at the counter.
	stint = 4
)

// crew decodes what was cut out of a stream, on all cores.
type crew[T any] struct {
	readers []*reader[T]
	// recent is what they have in common beside the table.
	recent *share.Recent
}

// reader returns the i-th reader.
func (c *crew[T]) reader(codec *codec[T], i int, held Held[T]) *reader[T] {
	for i >= len(c.readers) {
		c.readers = append(c.readers, &reader[T]{codec: codec})
	}
	r := c.readers[i]
	r.begin(held)
	if c.recent == nil && r.remembers() {
		c.recent = &share.Recent{}
	}
	r.session.Recent = c.recent
	return r
}

// each calls do once for every i below n, from several goroutines, the
// caller's among them, and returns when all calls have.
func (c *crew[T]) each(codec *codec[T], n int, held Held[T], do func(r *reader[T], i int)) {
	hands := min(runtime.GOMAXPROCS(0), n/minShare)
	if hands <= 1 {
		r := c.reader(codec, 0, held)
		for i := range n {
			do(r, i)
		}
		return
	}
	var next atomic.Int64
	work := func(r *reader[T]) {
		for {
			i := int(next.Add(stint)) - stint
			if i >= n {
				return
			}
			for j := i; j < min(i+stint, n); j++ {
				do(r, j)
			}
		}
	}
	var others sync.WaitGroup
	for h := 1; h < hands; h++ {
		r := c.reader(codec, h, held)
		others.Go(func() { work(r) })
	}
	work(c.reader(codec, 0, held))
	others.Wait()
}

// release lets go of what the readers refer to.
func (c *crew[T]) release() {
	for _, r := range c.readers {
		r.held = nil
	}
}
