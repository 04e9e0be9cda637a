package store_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// itemID names an object.
type itemID struct{ Namespace, Name string }

// modelValues says under what an object is found in one index; false if it is
// absent from it because the function failed.
type modelValues func(*item) ([]string, bool)

// event is what one operation did: "add", "update" or "delete".
type event struct {
	What     string
	ID       itemID
	Old, New *item
}

// model is the naive twin of a store: maps, of which every answer is computed from
// scratch. It uses nothing of what it is compared with.
type model struct {
	objects  map[itemID]*item
	indexes  map[string]modelValues
	versions map[string]string
}

func newModel() *model {
	return &model{objects: map[itemID]*item{}, indexes: map[string]modelValues{}, versions: map[string]string{}}
}

// Clone returns a model that no longer follows this one.
func (m *model) Clone() *model {
	return &model{objects: maps.Clone(m.objects), indexes: maps.Clone(m.indexes), versions: maps.Clone(m.versions)}
}

// Put adds or replaces an object.
func (m *model) Put(obj *item) event {
	old, had := m.objects[obj.id]
	m.objects[obj.id] = obj
	what := "add"
	if had {
		what = "update"
	}
	return event{What: what, ID: obj.id, Old: old, New: obj}
}

// Delete removes an object; false if there is none.
func (m *model) Delete(id itemID) (event, bool) {
	old, had := m.objects[id]
	delete(m.objects, id)
	return event{What: "delete", ID: id, Old: old}, had
}

// Replace makes the part of the model that in accepts equal to items.
func (m *model) Replace(items []*item, in func(itemID) bool) []event {
	var events []event
	named := map[itemID]bool{}
	for _, it := range items {
		named[it.id] = true
		events = append(events, m.Put(it))
	}
	for _, id := range m.IDs() {
		if in(id) && !named[id] {
			e, _ := m.Delete(id)
			events = append(events, e)
		}
	}
	return events
}

// IDs returns all names in order.
func (m *model) IDs() []itemID {
	return slices.SortedFunc(maps.Keys(m.objects), func(a, b itemID) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// Prefix returns in order the names of one namespace that start with p.Name; all if
// p is zero.
func (m *model) Prefix(p itemID) []itemID {
	return slices.DeleteFunc(m.IDs(), func(id itemID) bool {
		return p != (itemID{}) && (id.Namespace != p.Namespace || !strings.HasPrefix(id.Name, p.Name))
	})
}

// Index returns a whole index: for each value the names under it, in order.
func (m *model) Index(name string) map[string][]itemID {
	out := map[string][]itemID{}
	for _, id := range m.IDs() {
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
