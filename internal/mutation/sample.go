package mutation

import (
	"iter"
	"math/rand/v2"
	"slices"
)

// sample holds the watches of sampling mode, for one interval: at most max. Half of
// the places are for objects that are stored when the interval begins, the others for
// objects that arrive. It is plain data.
type sample[T any] struct {
	max      int
	rand     *rand.Rand
	resident []*watch[T]
	arrived  []*watch[T]
	// seen counts objects that arrived in this interval, taken those admitted.
	seen, taken int
}

// room is how many places are for arriving objects.
func (s *sample[T]) room() int { return s.max - s.max/2 }

// admit decides whether an arriving object is watched, and in which place. Each
// arrival has the same chance until max have been admitted; the limit is there since
// each admission costs a copy.
func (s *sample[T]) admit() (place int, ok bool) {
	s.seen++
	if s.taken == s.max {
		return 0, false
	}
	place = s.seen - 1
	if place >= s.room() {
		place = s.rand.IntN(s.seen)
	}
	if place >= s.room() {
		return 0, false
	}
	s.taken++
	return place, true
}

// put sets a watch into the place that it was admitted to.
func (s *sample[T]) put(place int, w *watch[T]) {
	for len(s.arrived) <= place {
		s.arrived = append(s.arrived, nil)
	}
	s.arrived[place] = w
}

// end returns the watches, in random order, and begins the next interval.
func (s *sample[T]) end() []*watch[T] {
	all := slices.DeleteFunc(append(s.resident, s.arrived...), func(w *watch[T]) bool { return w == nil })
	s.resident, s.arrived, s.seen, s.taken = nil, nil, 0, 0
	s.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// choose picks count of n objects, or all if there are no more.
func choose[T any](r *rand.Rand, count, n int, all iter.Seq[T]) []T {
	if n == 0 || count == 0 {
		return nil
	}
	at := make([]int, min(count, n))
	for i := range at {
		if at[i] = i; n > count {
			at[i] = r.IntN(n)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	chosen, i := make([]T, 0, len(at)), 0
	for obj := range all {
		if i == at[len(chosen)] {
			if chosen = append(chosen, obj); len(chosen) == len(at) {
				break
			}
		}
		i++
	}
	return chosen
}
