package keyqueue

import "maps"

// peakMap is a map that gives memory back after a peak, which a Go map does not: it is
// copied when an eighth of its most entries are left. The copy costs less than the
// deletions before it.
type peakMap[K comparable, V any] struct {
	entries map[K]V
	// most is the most entries since the map was made.
	most int
}

// leastPeak is the number of entries that are kept room for, so that a queue that fills
// and empties does not allocate.
const leastPeak = 4096

func (m *peakMap[K, V]) set(key K, value V) {
	if m.entries == nil {
		m.entries = map[K]V{}
	}
	m.entries[key] = value
	m.most = max(m.most, len(m.entries))
}

func (m *peakMap[K, V]) delete(key K) {
	delete(m.entries, key)
	if m.most > leastPeak && len(m.entries) < m.most/8 {
		left := make(map[K]V, len(m.entries))
		maps.Copy(left, m.entries)
		m.entries, m.most = left, len(left)
	}
}
