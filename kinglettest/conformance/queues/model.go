package queues

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// model is a simple model of a queue and of a delaying queue.
type model struct {
	queued     []string
	dirty      map[string]bool // queued, or added while it was processed
	processing map[string]bool
	down       bool
	waiting    map[string]time.Time
}

func newModel() *model {
	return &model{dirty: map[string]bool{}, processing: map[string]bool{}, waiting: map[string]time.Time{}}
}

// add reports whether the item was new.
func (m *model) add(item string) bool {
	if m.down || m.dirty[item] {
		return false
	}
	m.dirty[item] = true
	if !m.processing[item] {
		m.queued = append(m.queued, item)
	}
	return true
}

func (m *model) get() string {
	item := m.queued[0]
	m.queued = m.queued[1:]
	delete(m.dirty, item)
	m.processing[item] = true
	return item
}

func (m *model) done(item string) {
	delete(m.processing, item)
	if m.dirty[item] {
		m.queued = append(m.queued, item)
	}
}

func (m *model) shutDown() {
	m.down = true
	clear(m.waiting)
}

func (m *model) addAfter(item string, at time.Time) {
	if m.down {
		return
	}
	if before, ok := m.waiting[item]; !ok || at.Before(before) {
		m.waiting[item] = at
	}
}

// until adds the items that are due.
func (m *model) until(now time.Time) (added []string) {
	due := slices.SortedFunc(maps.Keys(m.waiting), func(a, b string) int { return m.waiting[a].Compare(m.waiting[b]) })
	for _, item := range due {
		if m.waiting[item].After(now) {
			break
		}
		delete(m.waiting, item)
		if m.add(item) {
			added = append(added, item)
		}
	}
	return added
}

func (m *model) oneProcessed(r *rand.Rand) string {
	list := slices.Sorted(maps.Keys(m.processing))
	return list[r.IntN(len(list))]
}
