package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// item is the object of these tests. It never changes after it was made.
type item struct {
	id     itemID
	rev    int
	node   string
	labels []string
	// trouble is how index functions fail for it: "", "error" or "panic".
	trouble string
}

func (i *item) String() string { return fmt.Sprintf("%v@%d", i.id, i.rev) }

func itemKey(i *item) (store.Key, error) {
	if i.id.Name == "" {
		return store.Key{}, errors.New("no name")
	}
	return store.Key(i.id), nil
}

// The index functions, for the store and for its twin.
var indexFuncs = map[string]store.IndexFunc[*item]{
	"namespace": func(i *item) ([]string, error) { return []string{i.id.Namespace}, nil },
	"node": func(i *item) ([]string, error) {
		switch i.trouble {
		case "error":
			return []string{"half"}, errors.New("trouble")
		case "panic":
			panic("trouble")
		}
		if i.node == "" {
			return nil, nil
		}
		return []string{i.node}, nil
	},
	"labels": func(i *item) ([]string, error) { return i.labels, nil },
	"unique": func(i *item) ([]string, error) { return []string{i.String()}, nil },
}

func twinValues(name string) modelValues {
	return func(i *item) ([]string, bool) {
		if name == "node" && i.trouble != "" {
			return nil, false
		}
		values, _ := indexFuncs[name](i)
		return values, true
	}
}

// dice decide what a random test does: a generator, or a fuzzer's bytes.
type dice interface{ IntN(n int) int }

// pair is a store and its twin, and what was seen of both in between.
type pair struct {
	t     testing.TB
	dice  dice
	names int
	// plain keeps to names that a Kubernetes server would accept.
	plain bool
	store *store.Store[*item]
	model *model
	rev   int
	kept  []keptSnapshot
	// failed are the index errors that the store should have returned.
	failed, returned int
}

type keptSnapshot struct {
	snap  *store.Snapshot[*item]
	model *model
}

func newPair(t testing.TB, d dice, names int, indexes ...string) *pair {
	p := &pair{t: t, dice: d, names: names, model: newModel()}
	opts := store.Options[*item]{KeyFunc: itemKey, Indexers: map[string]store.IndexFunc[*item]{}, RememberKeys: d.IntN(2) == 1}
	for _, name := range indexes {
		opts.Indexers[name] = indexFuncs[name]
		p.model.indexes[name] = twinValues(name)
	}
	var err error
	if p.store, err = store.New(opts); err != nil {
		t.Fatal(err)
	}
	return p
}

var namespaces = []string{"", "default", "default-2", "kube-system", "team-a", "team-b", "a\x00b", "\xff\xff", "a/b", "east"}

func (p *pair) id() itemID {
	n := p.dice.IntN(p.names)
	id := itemID{Namespace: namespaces[n%len(namespaces)]}
	switch n % 5 {
	case 0:
		id.Name = fmt.Sprintf("a-rather-long-common-prefix-%d", n)
	case 1:
		id.Name = fmt.Sprintf("web-%04d", n)
	case 2:
		id.Name = fmt.Sprintf("%d", n)
	case 3:
		id.Name = "web-\xff" + string(rune('a'+n%26)) + fmt.Sprint(n/26)
	case 4:
		id.Name = "0123456" + string(make([]byte, 1+n/40)) // zeros, as heads are padded with
	}
	if n%11 == 10 {
		id.Name = fmt.Sprintf("web/%d//", n/22) // as cache has them, of any string
	}
	if p.plain {
		id.Namespace = strings.ReplaceAll(id.Namespace, "\x00", "0")
		id.Name = strings.ReplaceAll(strings.ReplaceAll(id.Name, "\x00", "-"), "/", "-")
		id.Namespace = strings.ReplaceAll(id.Namespace, "/", "-")
	}
	return id
}

func (p *pair) item() *item {
	p.rev++
	it := &item{id: p.id(), rev: p.rev}
	if n := p.dice.IntN(8); n > 0 {
		it.node = fmt.Sprintf("node-%d", p.dice.IntN(n*n))
	}
	for range p.dice.IntN(4) {
		it.labels = append(it.labels, fmt.Sprintf("l%d", p.dice.IntN(6)))
	}
	switch p.dice.IntN(12) {
	case 0:
		it.trouble = "error"
	case 1:
		it.trouble = "panic"
	}
	return it
}

// failures counts the index errors that a write returned; there must be no others.
func (p *pair) failures(err error) {
	for _, err := range store.Errors(err) {
		if ie := (*store.IndexError)(nil); !errors.As(err, &ie) || ie.Index != "node" {
			p.t.Errorf("returned: %v", err)
		}
		p.returned++
	}
}

// expectFailures counts the index errors that writing these must cause.
func (p *pair) expectFailures(items ...*item) {
	if p.model.indexes["node"] == nil {
		return
	}
	for _, it := range items {
		if it.trouble != "" {
			p.failed++
		}
	}
}

func (p *pair) step() {
	switch k := p.dice.IntN(100); {
	case k < 35:
		it := p.item()
		p.expectFailures(it)
		p.model.Put(it)
		p.failures(p.store.Put(it))
	case k < 55:
		id := p.id()
		want, had := p.model.Delete(id)
		if got, ok := p.store.Delete(store.Key(id)); ok != had || got != want.Old {
			p.t.Fatalf("Delete(%v) = %v, %v; want %v, %v", id, got, ok, want.Old, had)
		}
	case k < 80:
		p.apply(p.dice.IntN(30))
	case k < 88:
		p.replace()
	case k < 92:
		p.toggleIndex()
	case k < 94:
		scope := fmt.Sprint(p.dice.IntN(3))
		p.rev++
		p.model.versions[scope] = fmt.Sprint(p.rev)
		p.store.SetResourceVersion(scope, fmt.Sprint(p.rev))
	default:
		p.keep()
	}
}

func (p *pair) apply(n int) {
	b := store.Batch[*item]{Scope: store.Scope{ID: fmt.Sprint(p.dice.IntN(3))}}
	var want []event
	for range n {
		if p.dice.IntN(3) == 0 {
			id := p.id()
			op := store.Op[*item]{Key: store.Key(id), Delete: true}
			e, had := p.model.Delete(id)
			if p.dice.IntN(2) == 0 {
				op.HasObject, op.Object = true, &item{id: id}
				e.Old = op.Object
			}
			if had {
				want = append(want, e)
			}
			b.Ops = append(b.Ops, op)
			continue
		}
		it := p.item()
		p.expectFailures(it)
		want = append(want, p.model.Put(it))
		b.Ops = append(b.Ops, store.Op[*item]{Key: store.Key(it.id), Object: it, ResourceVersion: fmt.Sprint(it.rev)})
		p.model.versions[b.Scope.ID] = fmt.Sprint(it.rev)
	}
	changes, err := p.store.Apply(b, nil)
	p.failures(err)
	p.compareChanges(changes, want)
}

func (p *pair) replace() {
	p.rev++
	b := store.Batch[*item]{ResourceVersion: fmt.Sprint(p.rev), Reason: store.Relist}
	var in func(itemID) bool
	b.Scope, in = p.scope()
	var items []*item
	add := func(it *item) {
		if in(it.id) {
			items = append(items, it)
		}
	}
	// From all that is held to none of it, and from few new objects to many:
	// the store replaces what changes little and what changes much differently.
	stay, fresh := p.dice.IntN(4), []int{40, 40, 40, 400}[p.dice.IntN(4)]
	for _, id := range p.model.IDs() {
		if p.dice.IntN(3) < stay {
			add(p.model.objects[id]) // the very same object
		}
	}
	for range p.dice.IntN(fresh) {
		add(p.item())
	}
	switch p.dice.IntN(3) {
	case 0:
		slices.SortStableFunc(items, func(a, b *item) int { return store.Key(a.id).Compare(store.Key(b.id)) })
	case 1:
		slices.Reverse(items)
	}
	held := map[itemID]*item{}
	for _, it := range items {
		// Held already: not written, so not indexed again.
		old, ok := held[it.id]
		if !ok {
			old = p.model.objects[it.id]
		}
		if old != it {
			p.expectFailures(it)
		}
		held[it.id] = it
		b.Ops = append(b.Ops, store.Op[*item]{Key: store.Key(it.id), Object: it})
	}
	want := p.model.Replace(items, in)
	p.model.versions[b.Scope.ID] = b.ResourceVersion
	changes, err := p.store.Replace(b, nil)
	p.failures(err)
	p.compareChanges(changes, want)
}

// scope returns a random scope, and whether it has a key, without the store's code.
func (p *pair) scope() (store.Scope, func(itemID) bool) {
	ns, oddly := namespaces[p.dice.IntN(len(namespaces))], p.dice.IntN(2)
	odd := func(id itemID) bool { return len(id.Name)%2 == oddly }
	s := store.Scope{ID: ns}
	switch p.dice.IntN(6) {
	case 0, 1:
		return store.Scope{}, func(itemID) bool { return true }
	case 2:
		s.Contains = func(k store.Key) bool { return k.Namespace == ns }
		return s, func(id itemID) bool { return id.Namespace == ns }
	case 3:
		s.Span = store.NamespaceSpan(ns)
		return s, func(id itemID) bool { return id.Namespace == ns }
	case 4:
		s.Span = store.NamespaceSpan(ns)
		s.Contains = func(k store.Key) bool { return odd(itemID(k)) }
		return s, func(id itemID) bool { return id.Namespace == ns && odd(id) }
	}
	from, to := store.Key(p.id()), store.Key(p.id())
	s.Span = store.Span{From: &from, To: &to, After: p.dice.IntN(2) == 0}
	after := s.Span.After
	return s, func(id itemID) bool {
		c := store.Key(id).Compare(from)
		return (c > 0 || c == 0 && !after) && store.Key(id).Compare(to) < 0
	}
}

func (p *pair) compareChanges(got []store.Change[*item], want []event) {
	what := map[store.ChangeType]string{store.Added: "add", store.Updated: "update", store.Deleted: "delete"}
	events := make([]event, len(got))
	for i, c := range got {
		events[i] = event{What: what[c.Type], ID: itemID(c.Key), Old: c.Old, New: c.New}
	}
	if !slices.Equal(events, want) {
		p.t.Fatalf("changes:\n got %v\nwant %v", events, want)
	}
}

func (p *pair) toggleIndex() {
	name := slices.Sorted(maps.Keys(indexFuncs))[p.dice.IntN(len(indexFuncs))]
	if p.model.indexes[name] != nil {
		delete(p.model.indexes, name)
		if err := p.store.AddIndex(name, indexFuncs[name]); !errors.Is(err, store.ErrIndexExists) {
			p.t.Fatalf("AddIndex of an index that exists: %v", err)
		}
		if err := p.store.RemoveIndex(name); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	if err := p.store.RemoveIndex(name); !errors.Is(err, store.ErrNoIndex) {
		p.t.Fatalf("RemoveIndex of none: %v", err)
	}
	p.model.indexes[name] = twinValues(name)
	for _, it := range p.model.objects {
		if name == "node" && it.trouble != "" {
			p.failed++
		}
	}
	p.failures(p.store.AddIndex(name, indexFuncs[name]))
}

// keep takes a snapshot and remembers what it must always show; now and then
// it lets one go, after looking.
func (p *pair) keep() {
	p.kept = append(p.kept, keptSnapshot{p.store.Snapshot(), p.model.Clone()})
	if len(p.kept) > 6 {
		i := p.dice.IntN(len(p.kept))
		compare(p.t, p.dice, p.kept[i].snap, p.kept[i].model)
		p.kept = slices.Delete(p.kept, i, i+1)
	}
}

// verify compares everything.
func (p *pair) verify() {
	p.t.Helper()
	check(p.t, p.store)
	compare(p.t, p.dice, p.store, p.model)
	for _, k := range p.kept {
		if err := k.snap.Check(); err != nil {
			p.t.Fatalf("a kept snapshot: %v", err)
		}
		compare(p.t, p.dice, k.snap, k.model)
	}
	if p.returned != p.failed {
		p.t.Fatalf("%d index errors returned, want %d", p.returned, p.failed)
	}
}

func seeded(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 1))
}

func TestStoreAnswersLikeItsNaiveTwin(t *testing.T) {
	for _, size := range []struct{ names, steps, every int }{
		{12, 600, 20}, {300, 600, 40}, {5000, 800, 200},
	} {
		for _, plain := range []bool{true, false} {
			t.Run(fmt.Sprintf("with %d names, plain %t", size.names, plain), func(t *testing.T) {
				t.Parallel()
				p := newPair(t, seeded(t), size.names, "namespace", "node")
				p.plain = plain
				for i := range size.steps {
					p.step()
					if i%size.every == 0 {
						p.verify()
					}
				}
				p.verify()
			})
		}
	}
}

// TestStoreStaysConsistentWhileItGrowsAndShrinks takes trees and sets through splits and joins at
// every level.
func TestStoreStaysConsistentWhileItGrowsAndShrinks(t *testing.T) {
	for _, order := range []string{"ascending", "descending", "random"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			rnd := seeded(t)
			p := newPair(t, rnd, 1, "namespace", "node", "labels")
			const n = 6000
			names := rnd.Perm(n)
			if order != "random" {
				slices.Sort(names)
			}
			if order == "descending" {
				slices.Reverse(names)
			}
			at := func(i int) itemID {
				return itemID{Namespace: fmt.Sprintf("ns-%d", names[i]/1500), Name: fmt.Sprintf("pod-%06d", names[i])}
			}
			for i := range n {
				it := &item{id: at(i), node: fmt.Sprint("node-", i%37), labels: []string{"all", fmt.Sprint(i % 3)}}
				p.model.Put(it)
				if err := p.store.Put(it); err != nil {
					t.Fatal(err)
				}
				if i%1500 == 0 {
					p.keep()
				}
			}
			p.verify()
			p.kept = nil
			for i := range n {
				p.model.Delete(at(i))
				p.store.Delete(store.Key(at(i)))
				if i%1000 == 999 {
					p.verify()
				}
			}
			p.verify()
		})
	}
}
