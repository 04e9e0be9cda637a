package keyqueue

import (
	"time"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// classes share the workers among classes of keys by start-time fair queueing
// (Goyal, Vin, Cheng: "Start-time Fair Queueing", 1996): each run advances its class
// in virtual time by its cost, and the class that is least advanced is served next.
// A run under way counts with the recent cost of the class's runs.
//
// With one class, the usual case, none of this is computed.
type classes[K comparable] struct {
	workers int // 0: there is one class

	list []class // by slot
	// names has the classes' records: the key is the name, and at is the class's
	// virtual time, runs under way included.
	names slab[string]
	table table[string]
	// contending are the classes with queued keys.
	contending heap
	// indebted are classes without records that are ahead of virtual.
	indebted heap
	// active counts the classes with queued or running keys.
	active int
	// virtual is the virtual time of the class served last, at that moment; farthest
	// is that of the most advanced class.
	virtual, farthest int64
	// mean is the mean cost of the runs of all classes.
	mean int64
	// full is scratch space of next.
	full []uint32
}

type class struct {
	ready   ready
	running int
	records int
	// tag is the class's virtual time without the runs under way, and mean the mean
	// cost of a run, both in nanoseconds.
	tag, mean int64
}

// mostIndebted bounds the classes that are remembered without records. Beyond it the
// least indebted are forgotten first.
const mostIndebted = 1024

// leastCost is the least cost of a run, so that runs that take no time are shared as
// well.
const leastCost = int64(time.Microsecond)

// newClasses returns classes that share the workers, or a single class if workers is 0.
func newClasses[K comparable](workers int) classes[K] {
	s := classes[K]{workers: workers, list: []class{{}}, mean: leastCost}
	if workers > 0 {
		s.table = newTable[string]()
		s.list = nil
	}
	return s
}

// of returns the index of a class, for one more record.
func (s *classes[K]) of(name string) uint32 {
	if s.workers == 0 {
		return 0
	}
	hash := s.table.hash(name)
	i, _, ok := s.table.find(hash, name, &s.names)
	if !ok {
		i = s.names.take()
		*s.names.at(i) = record[string]{key: name}
		s.table.insert(hash, i)
		for int(i) >= len(s.list) {
			s.list = append(s.list, class{})
		}
		s.list[i] = class{tag: s.virtual, mean: s.mean}
	} else if s.list[i].records == 0 {
		s.names.remove(&s.indebted, i)
	}
	s.list[i].records++
	return i
}

// name returns the name of a class.
func (s *classes[K]) name(i uint32) string {
	if s.workers == 0 {
		return ""
	}
	return s.names.at(i).key
}

// left uncounts one record of a class. A class without records is remembered until
// the others have reached its virtual time: otherwise a key that is added again after
// each of its runs would run without cost.
func (s *classes[K]) left(i uint32) {
	if s.workers == 0 {
		return
	}
	k := &s.list[i]
	if k.records--; k.records > 0 {
		return
	}
	if k.tag <= s.virtual {
		s.forget(i)
		return
	}
	if len(s.indebted.slots) == mostIndebted {
		s.forget(s.names.pop(&s.indebted))
	}
	s.names.at(i).at = k.tag
	s.names.push(&s.indebted, i)
}

// forget removes a class that is in no heap.
func (s *classes[K]) forget(i uint32) {
	hash := s.table.hash(s.names.at(i).key)
	_, place, _ := s.table.find(hash, s.names.at(i).key, &s.names)
	s.table.remove(hash, place)
	s.names.release(i)
	s.list[i] = class{}
}

// reach advances virtual time, and forgets the classes that it has reached.
func (s *classes[K]) reach(at int64) {
	s.virtual = max(s.virtual, at)
	for len(s.indebted.slots) > 0 && s.names.at(s.indebted.slots[0]).at <= s.virtual {
		s.forget(s.names.pop(&s.indebted))
	}
}

// deactivate counts one active class less. When none is left, no class is owed
// anything, and all begin again at the same virtual time.
func (s *classes[K]) deactivate() {
	if s.active--; s.active == 0 {
		s.reach(s.farthest)
	}
}

// push enqueues a key in its class.
func (s *classes[K]) push(records *slab[K], slot uint32, i uint32) {
	k := &s.list[i]
	records.enqueue(&k.ready, slot)
	if s.workers == 0 || k.ready.n > 1 {
		return
	}
	if k.running == 0 {
		s.active++
	}
	// A class that returns has no claim on the time when it had no keys.
	k.tag = max(k.tag, s.virtual-int64(k.running)*k.mean)
	s.names.at(i).at = k.place()
	s.names.push(&s.contending, i)
}

func (k *class) place() int64 { return k.tag + int64(k.running)*k.mean }

// remove takes a queued key out of its class.
func (s *classes[K]) remove(records *slab[K], slot uint32, i uint32) {
	k := &s.list[i]
	records.unqueue(&k.ready, slot)
	if s.workers == 0 || k.ready.n > 0 {
		return
	}
	s.names.remove(&s.contending, i)
	if k.running == 0 {
		s.deactivate()
	}
}

// pop begins a run of the first key of the class to serve next.
func (s *classes[K]) pop(records *slab[K]) (slot uint32, ok bool) {
	if s.workers == 0 {
		if s.list[0].ready.n == 0 {
			return 0, false
		}
		return records.dequeue(&s.list[0].ready), true
	}
	i, ok := s.next()
	if !ok {
		return 0, false
	}
	k := &s.list[i]
	s.reach(k.place())
	k.running++
	slot = records.dequeue(&k.ready)
	if k.ready.n == 0 {
		s.names.remove(&s.contending, i)
	} else {
		s.names.at(i).at = k.place()
		s.names.fix(&s.contending, i)
	}
	return slot, true
}

// next returns the least advanced of the classes that use less than their share of
// the workers. If there is none, it returns the least advanced of all, so that no
// worker is kept idle.
func (s *classes[K]) next() (uint32, bool) {
	if len(s.contending.slots) == 0 {
		return 0, false
	}
	share := (s.workers + s.active - 1) / s.active
	chosen := s.contending.slots[0]
	full := s.full[:0]
	for len(s.contending.slots) > 0 {
		i := s.contending.slots[0]
		if s.list[i].running < share || mutant.On(mutant.HoldWorkers) {
			chosen = i
			break
		}
		full = append(full, s.names.pop(&s.contending))
	}
	for _, i := range full {
		s.names.push(&s.contending, i)
	}
	s.full = full
	return chosen, true
}

// finished counts the cost of a run of a class.
func (s *classes[K]) finished(i uint32, took time.Duration) {
	if s.workers == 0 {
		return
	}
	cost := max(int64(took), leastCost)
	if mutant.On(mutant.ClassesByTurn) {
		cost = leastCost
	}
	k := &s.list[i]
	k.running--
	k.tag += cost
	s.farthest = max(s.farthest, k.tag)
	k.mean += (cost - k.mean) / 5
	s.mean += (cost - s.mean) / 5
	switch {
	case k.ready.n > 0:
		s.names.at(i).at = k.place()
		s.names.fix(&s.contending, i)
	case k.running == 0:
		s.deactivate()
	}
}
