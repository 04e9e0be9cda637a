package reflector

import (
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// stage holds a list until it is whole.
type stage[T any] struct {
	items []source.Item[T]
	// at is where each key stands in items. It is made only once an item has
	// to be found again, which a list never needs and a stream seldom.
	// Invariant: if not nil, it has every item with a key.
	at map[store.Key]int
}

// page adds a page's items; remaining is how many more are to be expected.
func (s *stage[T]) page(items []source.Item[T], remaining int64) {
	// The estimate is the server's, so it is not trusted beyond reason: it
	// buys room for at most maxExpected items at a time.
	const maxExpected = 1 << 17
	if s.items == nil {
		s.items = make([]source.Item[T], 0, int64(len(items))+min(max(remaining, 0), maxExpected))
	}
	s.items = append(s.items, items...)
}

// add adds one item, or replaces the one with its key if keys are known.
func (s *stage[T]) add(item source.Item[T]) {
	if s.at == nil || item.Key == (store.Key{}) {
		s.items = append(s.items, item)
		return
	}
	if i, ok := s.at[item.Key]; ok {
		s.items[i] = item
		return
	}
	s.at[item.Key] = len(s.items)
	s.items = append(s.items, item)
}

// replace puts an item in the place of the one with its key.
func (s *stage[T]) replace(item source.Item[T]) {
	s.index()
	s.add(item)
}

// remove takes out the item with the key.
func (s *stage[T]) remove(key store.Key) {
	s.index()
	i, ok := s.at[key]
	if !ok {
		return
	}
	delete(s.at, key)
	last := len(s.items) - 1
	if i != last {
		s.items[i] = s.items[last]
		if moved := s.items[i].Key; moved != (store.Key{}) {
			s.at[moved] = i
		}
	}
	s.items[last] = source.Item[T]{}
	s.items = s.items[:last]
}

func (s *stage[T]) index() {
	if s.at != nil {
		return
	}
	s.at = make(map[store.Key]int, len(s.items))
	for i := range s.items {
		if key := s.items[i].Key; key != (store.Key{}) {
			s.at[key] = i
		}
	}
}

// take empties the stage and returns what it held.
func (s *stage[T]) take() []source.Item[T] {
	items := s.items
	*s = stage[T]{}
	return items
}
