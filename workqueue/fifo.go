package workqueue

// DefaultQueue returns an order that is first in, first out.
func DefaultQueue[T comparable]() Queue[T] { return &fifo[T]{} }

// fifo is a ring. It is halved if it was at most a quarter full for as many items as it
// has room for, so a ring that fills and empties in turns keeps its memory.
type fifo[T comparable] struct {
	ring  []T // its length is a power of two, or 0
	first int
	n     int
	// popped counts items since the ring was last checked, and most is how many it held
	// meanwhile.
	popped, most int
}

// leastRing is the size below which a ring does not shrink.
const leastRing = 64

func (q *fifo[T]) Touch(T) {}

func (q *fifo[T]) Push(item T) {
	if q.n == len(q.ring) {
		q.resize(max(leastRing, 2*q.n))
	}
	q.ring[(q.first+q.n)&(len(q.ring)-1)] = item
	q.n++
	q.most = max(q.most, q.n)
}

func (q *fifo[T]) Len() int { return q.n }

// Pop panics if the order is empty, as client-go's does.
func (q *fifo[T]) Pop() T {
	if q.n == 0 {
		return q.ring[:0][0]
	}
	item := q.ring[q.first]
	// The old place must not keep alive what the item refers to.
	q.ring[q.first] = *new(T)
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.n--
	if q.popped++; q.popped > len(q.ring) {
		if len(q.ring) > leastRing && q.most <= len(q.ring)/4 {
			q.resize(len(q.ring) / 2)
		}
		q.popped, q.most = 0, q.n
	}
	return item
}

func (q *fifo[T]) resize(size int) {
	ring := make([]T, size)
	n := copy(ring, q.ring[q.first:])
	if n < q.n {
		copy(ring[n:], q.ring[:q.n-n])
	}
	q.ring, q.first = ring, 0
}
