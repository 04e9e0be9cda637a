package reflector

import (
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// stage holds a list until it is whole, in the pieces in which it came: to
// join them would take their memory a second time, just when there is most of
// everything else.
type stage[T any] struct {
	pages [][]source.Item[T]
	// at is where each key stands. It is made only once an item has to be
	// found again, which a list never needs and a stream seldom. Until then a key
	// that came twice has two items, of which the later counts.
	// Invariant: if not nil, it has every item that is named, and there are no
	// two of one key.
	at map[store.Key]*source.Item[T]
	// items is how many there are, and bytes how many came, also for what was
	// replaced or removed since.
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

// add adds one item, or replaces the one with its key if keys are known.
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

// replace puts an item in the place of the one with its key.
func (s *stage[T]) replace(item source.Item[T]) {
	s.index()
	s.add(item)
}

// remove takes out the item with the key.
func (s *stage[T]) remove(key store.Key) {
	s.index()
	if p := s.at[key]; p != nil {
		delete(s.at, key)
		s.drop(p)
	}
}

// drop takes out an item that at does not have, and puts the last one in its
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

// index makes at, and drops items of which a later one has the key. It goes
// from the last to the first, so that what drop moves is in at already.
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
				if !mutant.On(mutant.LeaveGhost) {
					s.drop(p)
				}
			default:
				s.at[p.Key] = p
			}
		}
	}
}

// named is whether an item is the state of the object with its key. One of
// another kind is that of another object.
func named[T any](item *source.Item[T]) bool {
	return item.Key != (store.Key{}) && !otherKind(item)
}

// otherKind is whether an object of another kind came where one was due.
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
