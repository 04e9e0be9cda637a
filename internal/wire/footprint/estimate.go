package footprint

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"slices"
)

// MaxSampled is how many objects are examined. For pods this takes about 10 ms.
const MaxSampled = 256

// Sized is an object and its memory, with everything that it refers to.
type Sized[T any] struct {
	Object T
	Bytes  int64
}

// Estimate is the memory of objects.
type Estimate[T any] struct {
	// Bytes are those of all objects; a part that several have counts once.
	Bytes int64
	// Sampled are the examined objects, the largest first. Parts that they share with
	// others count in each.
	Sampled []Sized[T]
}

// One returns the memory of an object.
func One[T any](obj T) int64 {
	return exact(1, func(yield func(T) bool) { yield(obj) }).Bytes
}

// Of estimates the memory of the n objects that all yields in key order. Up to MaxSampled
// objects it examines every one, and is exact except for the allocator's rounding.
// Otherwise it iterates over all objects, at some nanoseconds each, and examines only a
// sample.
func Of[T any](n int, all iter.Seq[T], r *rand.Rand) Estimate[T] {
	if n <= MaxSampled {
		return exact(n, all)
	}
	return sampled(n, all, r)
}

func exact[T any](n int, all iter.Seq[T]) (e Estimate[T]) {
	w := newWalker()
	blocks := map[uintptr]int64{}
	e.Sampled = make([]Sized[T], 0, n)
	for obj := range all {
		bytes := int64(0)
		w.walk(obj, func(address uintptr, b int64) {
			bytes += b
			if address == 0 {
				e.Bytes += b
				return
			}
			// A slice may begin where a struct does.
			if was := blocks[address]; b > was {
				e.Bytes += b - was
				blocks[address] = b
			}
		})
		e.Sampled = append(e.Sampled, Sized[T]{obj, bytes})
	}
	e.sort()
	return e
}

func (e *Estimate[T]) sort() {
	slices.SortStableFunc(e.Sampled, func(a, b Sized[T]) int { return cmp.Compare(b.Bytes, a.Bytes) })
}

// pick is an object to examine.
type pick struct {
	rank int
	// anchor is the index of its anchor. The object is an anchor itself if members is 0;
	// otherwise members is how many objects it represents.
	anchor  int
	members int
}

// picks chooses which of n objects to examine, and how many of them are anchors.
func picks(n int, r *rand.Rand) (all []pick, anchors int) {
	var distances []int // the upper ends
	for d := 1; d < (n+1)/2; d *= 2 {
		distances = append(distances, d)
	}
	distances = append(distances, n/2)
	anchors = MaxSampled / (1 + len(distances))
	for a := range anchors {
		rank := r.IntN(n)
		all = append(all, pick{rank: rank, anchor: a})
		from := 0
		for _, to := range distances {
			if to > from {
				distance := from + 1 + r.IntN(to-from)
				if r.IntN(2) == 0 {
					distance = n - distance
				}
				all = append(all, pick{rank: (rank + distance) % n, anchor: a, members: 2 * (to - from)})
			}
			from = to
		}
	}
	return all, anchors
}

func sampled[T any](n int, all iter.Seq[T], r *rand.Rand) (e Estimate[T]) {
	picked, anchors := picks(n, r)
	objects := find(picked, all)
	type part struct {
		bytes   int64
		sharers float64
	}
	w := newWalker()
	parts := map[uintptr]*part{}
	looked := map[int]bool{} // ranks
	var walked, anchored, count int64
	var divided float64
	next := 0
	for a := range anchors {
		clear(parts)
		alone := int64(0)
		for ; next < len(picked) && picked[next].anchor == a; next++ {
			p := picked[next]
			obj, there := objects[p.rank]
			if !there {
				continue
			}
			bytes := int64(0)
			w.walk(obj, func(address uintptr, b int64) {
				bytes += b
				switch known := parts[address]; {
				case address == 0 && p.members == 0:
					alone += b
				case address == 0:
				case p.members == 0 && known == nil:
					parts[address] = &part{b, 1}
				case known != nil:
					known.sharers += float64(p.members)
				}
			})
			if p.members == 0 {
				anchored += bytes
			}
			walked += bytes
			count++
			if !looked[p.rank] {
				looked[p.rank] = true
				e.Sampled = append(e.Sampled, Sized[T]{obj, bytes})
			}
		}
		divided += float64(alone)
		for _, p := range parts {
			divided += float64(p.bytes) / min(p.sharers, float64(n))
		}
	}
	if anchored > 0 {
		// All examined objects show how large objects are; the anchors show how much
		// of them is not shared.
		mean := float64(walked) / float64(count)
		e.Bytes = int64(float64(n) * mean * divided / float64(anchored))
	}
	e.sort()
	return e
}

// find returns the picked objects by rank.
func find[T any](picked []pick, all iter.Seq[T]) map[int]T {
	ranks := make([]int, len(picked))
	for i := range picked {
		ranks[i] = picked[i].rank
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	objects := make(map[int]T, len(ranks))
	rank := 0
	for obj := range all {
		if rank == ranks[0] {
			objects[rank] = obj
			if ranks = ranks[1:]; len(ranks) == 0 {
				break
			}
		}
		rank++
	}
	return objects
}
