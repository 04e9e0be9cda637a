package consistency

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/kinglet-go/kinglet/store"
)

// cursor is a position in the order of API servers, the byte order of
// "namespace/name": "a-b/x" comes before "a/x", since '-' is less than '/'. The zero
// cursor is before all keys.
type cursor struct{ namespace, name string }

func cursorOf(k store.Key) cursor { return cursor{k.Namespace, k.Name} }

func (c cursor) compare(d cursor) int {
	if c.namespace != d.namespace {
		return compareNamespaces(c.namespace, d.namespace)
	}
	return strings.Compare(c.name, d.name)
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

// keysIn iterates over a snapshot's keys after after, up to last, or all that follow if
// open, in the server's order. It begins with one search for each namespace of the
// snapshot, which takes some microseconds.
func keysIn[T any](s *store.Snapshot[T], after, last cursor, open bool) iter.Seq[store.Key] {
	return func(yield func(store.Key) bool) {
		for _, ns := range namespaces(s) {
			from := store.Key{Namespace: ns}
			switch c := compareNamespaces(ns, after.namespace); {
			case c < 0:
				continue
			case c == 0:
				from.Name = after.name
			}
			if !open && compareNamespaces(ns, last.namespace) > 0 {
				return
			}
			for key := range s.KeysFrom(from) {
				at := cursorOf(key)
				if key.Namespace != ns || !open && at.compare(last) > 0 {
					break
				}
				if at.compare(after) > 0 && !yield(key) {
					return
				}
			}
		}
	}
}

// namespaces returns the namespaces of a snapshot's keys, in the server's order.
func namespaces[T any](s *store.Snapshot[T]) []string {
	var all []string
	next := store.Key{}
	for {
		found := false
		for key := range s.KeysFrom(next) {
			found = true
			all = append(all, key.Namespace)
			next = store.Key{Namespace: key.Namespace + "\x00"}
			break
		}
		if !found {
			break
		}
	}
	slices.SortFunc(all, compareNamespaces)
	return all
}

// sweep is where the next check continues; zero for the start of the collection.
type sweep struct {
	// token is the server's continue token.
	token string
	// after is the last key of the previous page.
	after cursor
	epoch uint64
	// retries counts how often the page was too old to determine missing objects.
	retries int
}

// maxRetries is how often a page that is too old is asked for again. By then
// servers have long forgotten old versions.
const maxRetries = 20

// next returns the sweep after a page that was compared; token is the server's token
// for the next page, empty after the last. A page with pending differences is
// requested again.
func (s sweep) next(pending bool, last cursor, token string) sweep {
	switch {
	case pending && s.retries < maxRetries:
		s.retries++
		return s
	case token == "":
		return sweep{}
	}
	return sweep{token: token, after: last, epoch: s.epoch}
}
