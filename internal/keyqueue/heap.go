package keyqueue

import "container/heap"

// byTime is a heap of records, the one with the earliest at first.
type byTime[K comparable] []*record[K]

func (h byTime[K]) Len() int           { return len(h) }
func (h byTime[K]) Less(i, j int) bool { return h[i].at < h[j].at }

func (h byTime[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

// Push implements heap.Interface.
func (h *byTime[K]) Push(r any) {
	added := r.(*record[K])
	added.index = int32(len(*h))
	*h = append(*h, added)
}

// Pop implements heap.Interface. It gives memory back when little of it is used.
func (h *byTime[K]) Pop() any {
	n := len(*h) - 1
	r := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	if cap(*h) > 1024 && n < cap(*h)/4 {
		*h = append(make(byTime[K], 0, 2*n), *h...)
	}
	return r
}

func (h *byTime[K]) push(r *record[K])   { heap.Push(h, r) }
func (h *byTime[K]) pop() *record[K]     { return heap.Pop(h).(*record[K]) }
func (h *byTime[K]) remove(r *record[K]) { heap.Remove(h, int(r.index)) }

// moved restores the order after the record's time has changed.
func (h *byTime[K]) moved(r *record[K]) { heap.Fix(h, int(r.index)) }

// next returns the earliest time, or never.
func (h byTime[K]) next() int64 {
	if len(h) == 0 {
		return never
	}
	return h[0].at
}
