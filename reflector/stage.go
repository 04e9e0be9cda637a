package reflector

import (
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// stage holds a list until it is complete, in the pieces in which it arrived.
// Joining them would take their memory a second time, just when memory use peaks.
type stage[T any] struct {
	pages [][]source.Item[T]
	// at maps each key to its item. It is built only once an item has to be found
	// again: never for a list, seldom for a stream. Until then a key that arrived
	// twice has two items, and the later one counts.
	//
	// Invariant: if not nil, it holds every named item, one per key.
	at map[store.Key]*source.Item[T]
	// items is how many items are staged. bytes is how many bytes arrived,
	// including those of items replaced or removed since.
	items, bytes int64
}

// streamed is how many items of a stream are kept in one piece.
const streamed = 512

// page adds a page's items.
func (s *stage[T]) page(items []source.Item[T]) {
	if len(items) > 0 {
		s.pages = append(s.pages, items)
		s.items += int64(len(items))
	}
}

// add adds one item. Once at is built, it replaces the item with the same key.
func (s *stage[T]) add(item source.Item[T]) {
	known := s.at != nil && named(&item)
	if known {
		if p := s.at[item.Key]; p != nil {
			*p = item
			return
		}
	}
	last := len(s.pages) - 1
	if last < 0 || len(s.pages[last]) == cap(s.pages[last]) {
		// The first piece is small, as most collections are.
		size := streamed
		if last < 0 {
			size = 8
		}
		s.pages = append(s.pages, make([]source.Item[T], 0, size))
		last++
	}
	s.pages[last] = append(s.pages[last], item)
	s.items++
	if known {
		s.at[item.Key] = &s.pages[last][len(s.pages[last])-1]
	}
}

// replace replaces the item with the same key.
func (s *stage[T]) replace(item source.Item[T]) {
	s.index()
	s.add(item)
}

// remove removes the item with the key.
func (s *stage[T]) remove(key store.Key) {
	s.index()
	if p := s.at[key]; p != nil {
		delete(s.at, key)
		s.drop(p)
	}
}

// drop removes an item that at does not hold, and moves the last item into its
// place.
func (s *stage[T]) drop(p *source.Item[T]) {
	s.items--
	n := len(s.pages) - 1
	page := s.pages[n]
	last := &page[len(page)-1]
	if p != last {
		*p = *last
		if named(p) {
			s.at[p.Key] = p
		}
	}
	*last = source.Item[T]{}
	if s.pages[n] = page[:len(page)-1]; len(page) == 1 {
		s.pages = s.pages[:n]
	}
}

// index builds at, and drops each item whose key a later item has. It goes from
// the last to the first, so at already holds whatever drop moves.
func (s *stage[T]) index() {
	if s.at != nil {
		return
	}
	s.at = make(map[store.Key]*source.Item[T])
	for n := len(s.pages) - 1; n >= 0; n-- {
		page := s.pages[n]
		for i := len(page) - 1; i >= 0; i-- {
			p := &page[i]
			switch {
			case !named(p):
			case s.at[p.Key] != nil:
				s.drop(p)
			default:
				s.at[p.Key] = p
			}
		}
	}
}

// named reports whether an item is the state of the object with its key. An item
// of another kind is the state of another object.
func named[T any](item *source.Item[T]) bool {
	return item.Key != (store.Key{}) && !otherKind(item)
}

// otherKind reports whether an object of an unexpected kind arrived.
func otherKind[T any](item *source.Item[T]) bool {
	if item.Err == nil {
		return false
	}
	_, is := errtype.As[*source.KindError](item.Err)
	return is
}

// take empties the stage and returns what it held.
func (s *stage[T]) take() [][]source.Item[T] {
	pages := s.pages
	*s = stage[T]{}
	return pages
}
