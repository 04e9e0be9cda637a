// Package storetest has the naive twin of a store: a map and a mutex. It
// imports nothing of what it is compared with.
package storetest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// ID names an object.
type ID struct{ Namespace, Name string }

func compare(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Values says under what an object is found in one index; false if it is
// absent from it because the function failed.
type Values[T any] func(T) ([]string, bool)

// Event is what one operation did: "add", "update" or "delete".
type Event[T any] struct {
	What     string
	ID       ID
	Old, New T
}

// Model is the twin: every answer is computed from scratch.
type Model[T any] struct {
	mu       sync.Mutex
	objects  map[ID]T
	indexes  map[string]Values[T]
	versions map[string]string
}

// New returns an empty model.
func New[T any]() *Model[T] {
	return &Model[T]{objects: map[ID]T{}, indexes: map[string]Values[T]{}, versions: map[string]string{}}
}

// Clone returns a model that no longer follows this one.
func (m *Model[T]) Clone() *Model[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Model[T]{objects: maps.Clone(m.objects), indexes: maps.Clone(m.indexes), versions: maps.Clone(m.versions)}
}

// Put adds or replaces an object.
func (m *Model[T]) Put(id ID, obj T) Event[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, had := m.objects[id]
	m.objects[id] = obj
	what := "add"
	if had {
		what = "update"
	}
	return Event[T]{What: what, ID: id, Old: old, New: obj}
}

// Delete removes an object; false if there is none.
func (m *Model[T]) Delete(id ID) (Event[T], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old, had := m.objects[id]
	delete(m.objects, id)
	return Event[T]{What: "delete", ID: id, Old: old}, had
}

// Item is an object with its name.
type Item[T any] struct {
	ID     ID
	Object T
}

// Replace makes the part of the model that in accepts equal to items.
func (m *Model[T]) Replace(items []Item[T], in func(ID) bool) []Event[T] {
	var events []Event[T]
	named := map[ID]bool{}
	for _, it := range items {
		named[it.ID] = true
		events = append(events, m.Put(it.ID, it.Object))
	}
	for _, id := range m.IDs() {
		if in(id) && !named[id] {
			e, _ := m.Delete(id)
			events = append(events, e)
		}
	}
	return events
}

// AddIndex adds an index or replaces it.
func (m *Model[T]) AddIndex(name string, values Values[T]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.indexes[name] = values
}

// RemoveIndex removes an index; false if there is none.
func (m *Model[T]) RemoveIndex(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, had := m.indexes[name]
	delete(m.indexes, name)
	return had
}

// SetVersion sets the version of a scope.
func (m *Model[T]) SetVersion(scope, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[scope] = version
}

// Version returns it.
func (m *Model[T]) Version(scope string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.versions[scope]
}

// Get returns one object.
func (m *Model[T]) Get(id ID) (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	obj, ok := m.objects[id]
	return obj, ok
}

// IDs returns all names in order.
func (m *Model[T]) IDs() []ID {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Keys(m.objects), compare)
}

// Prefix returns in order the names of one namespace that start with p.Name; all if
// p is zero.
func (m *Model[T]) Prefix(p ID) []ID {
	return slices.DeleteFunc(m.IDs(), func(id ID) bool {
		return p != (ID{}) && (id.Namespace != p.Namespace || !strings.HasPrefix(id.Name, p.Name))
	})
}

// Indexes returns the names of the indexes, sorted.
func (m *Model[T]) Indexes() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.indexes))
}

// Index returns a whole index: for each value the names under it, in order.
func (m *Model[T]) Index(name string) map[string][]ID {
	ids := m.IDs()
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string][]ID{}
	for _, id := range ids {
		values, ok := m.indexes[name](m.objects[id])
		if !ok {
			continue
		}
		values = slices.Clone(values)
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			out[v] = append(out[v], id)
		}
	}
	return out
}
