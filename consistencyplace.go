package kinglet

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/kinglet-go/kinglet/store"
)

// place is where a key stands in the order of API servers, which is that of
// "namespace/name" as bytes: "a-b/x" comes before "a/x", as '-' does before
// '/'. The zero place is before all.
type place struct{ namespace, name string }

func placeOf(k store.Key) place { return place{k.Namespace, k.Name} }

func (p place) compare(q place) int {
	if p.namespace != q.namespace {
		return compareNamespaces(p.namespace, q.namespace)
	}
	return strings.Compare(p.name, q.name)
}

// compareNamespaces compares a+"/" with b+"/".
func compareNamespaces(a, b string) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 || len(a) == len(b) {
		return c
	}
	if len(a) == n {
		return cmp.Compare('/', b[n])
	}
	return cmp.Compare(a[n], '/')
}

// stretch is a part of the collection: what stands behind after, up to last,
// or all that follows if open.
type stretch struct {
	after, last place
	open        bool
}

// heldIn iterates over the keys that a snapshot has in a stretch, in the
// server's order. It begins with one search for each namespace of the
// snapshot, some microseconds each.
func heldIn[T any](s *store.Snapshot[T], in stretch) iter.Seq[store.Key] {
	return func(yield func(store.Key) bool) {
		for _, ns := range namespaces(s) {
			from := store.Key{Namespace: ns}
			switch c := compareNamespaces(ns, in.after.namespace); {
			case c < 0:
				continue
			case c == 0:
				from.Name = in.after.name
			}
			if !in.open && compareNamespaces(ns, in.last.namespace) > 0 {
				return
			}
			for key := range s.KeysFrom(from) {
				p := placeOf(key)
				if key.Cluster != "" || key.Namespace != ns || !in.open && p.compare(in.last) > 0 {
					break
				}
				if p.compare(in.after) > 0 && !yield(key) {
					return
				}
			}
		}
	}
}

// namespaces are those that a snapshot has keys in, in the server's order.
func namespaces[T any](s *store.Snapshot[T]) []string {
	var all []string
	next := store.Key{}
	for {
		found := false
		for key := range s.KeysFrom(next) {
			if key.Cluster == "" {
				found = true
				all = append(all, key.Namespace)
				next = store.Key{Namespace: key.Namespace + "\x00"}
			}
			break
		}
		if !found {
			break
		}
	}
	slices.SortFunc(all, compareNamespaces)
	return all
}
