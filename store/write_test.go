package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	_, err := store.New(store.Options[*item]{Indexers: map[string]store.IndexFunc[*item]{"a": nil, "b": nil}})
	for _, part := range []string{"KeyFunc", `"a"`, `"b"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %s", err, part)
		}
	}
}

func TestAnObjectWithoutAKeyChangesNothing(t *testing.T) {
	for name, key := range map[string]store.KeyFunc[*item]{
		"the function fails":  itemKey,
		"the function panics": func(i *item) (store.Key, error) { return store.Key{Name: i.id.Name[:1]}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(o *store.Options[*item]) { o.KeyFunc = key })
			var ke *store.KeyError
			if err := s.Put(&item{}); !errors.As(err, &ke) || !strings.Contains(ke.Object, "item") {
				t.Fatalf("Put: %v", err)
			}
			b := batchOf(&item{}, &item{})
			if c, err := s.Apply(b, nil); len(c) != 0 || !errors.As(err, &ke) || len(store.Errors(err)) != 2 {
				t.Fatalf("Apply: %v, %v", c, err)
			}
			if c, err := s.Replace(b, nil); len(c) != 0 || !errors.As(err, &ke) || len(store.Errors(err)) != 2 {
				t.Fatalf("Replace: %v, %v", c, err)
			}
			if s.Len() != 0 {
				t.Fatalf("%d objects", s.Len())
			}
		})
	}
}

func TestAnOperationUnderAnotherKeyOrOutsideTheScopeIsRefused(t *testing.T) {
	s := newStore(t)
	put(t, s, pod(4, 1))
	wrong := batchOf(pod(1, 1))
	wrong.Ops[0].Key.Name = "another"
	outside := batchOf(pod(1, 1))
	outside.Ops = append(outside.Ops, store.Op[*item]{Key: store.Key(pod(4, 1).id), Delete: true})
	outside.Scope = store.Scope{ID: "x", Contains: func(store.Key) bool { return false }}
	_, first := s.Apply(wrong, nil)
	_, second := s.Apply(outside, nil)
	_, third := s.Replace(outside, nil)
	errs := slices.Concat(store.Errors(first), store.Errors(second), store.Errors(third))
	if s.Len() != 1 || len(errs) != 5 {
		t.Fatalf("%d objects, errors: %v", s.Len(), errs)
	}
	for _, err := range errs {
		if ke := (*store.KeyError)(nil); !errors.As(err, &ke) && !strings.Contains(err.Error(), "no key") {
			t.Errorf("%v is no *KeyError", err)
		}
	}
}

func TestAFailingIndexFunctionLeavesTheObjectOutOfThatIndexAlone(t *testing.T) {
	var errs []error
	s := newStore(t)
	for _, trouble := range []string{"", "error", "panic", ""} {
		it := pod(1, 1)
		it.trouble = trouble
		errs = append(errs, store.Errors(s.Put(it))...)
		want := 1
		if trouble != "" {
			want = 0
		}
		if n, _ := s.IndexCount("node", "node-1"); n != want {
			t.Errorf("trouble %q: %d under its node, want %d", trouble, n, want)
		}
		if n, _ := s.IndexCount("namespace", "ns-1"); n != 1 {
			t.Errorf("trouble %q: %d under its namespace", trouble, n)
		}
		check(t, s)
	}
	var ie *store.IndexError
	var pe *store.PanicError
	if len(errs) != 2 || !errors.As(errs[0], &ie) || ie.Key != store.Key(pod(1, 1).id) || !errors.As(errs[1], &pe) || pe.Value != "trouble" {
		t.Fatalf("returned: %v", errs)
	}
}

func TestAnIndexFunctionThatIsNotPureCannotCorruptTheStore(t *testing.T) {
	n := 0
	s := newStore(t, func(o *store.Options[*item]) {
		o.Indexers["moody"] = func(*item) ([]string, error) { n++; return []string{fmt.Sprint(n % 5)}, nil }
	})
	for i := range 200 {
		put(t, s, pod(i%50, i))
		if i%3 == 0 {
			s.Delete(store.Key(pod(i%50, 0).id))
		}
	}
	if err := s.Snapshot().Check(); err == nil {
		t.Fatal("Check does not notice")
	}
	if err := s.RemoveIndex("moody"); err != nil {
		t.Fatal(err)
	}
	check(t, s)
}

func TestCheckFindsAnObjectThatWasModified(t *testing.T) {
	s := newStore(t)
	it := pod(1, 1)
	put(t, s, it, pod(2, 1))
	it.node = "elsewhere"
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "elsewhere") {
		t.Fatalf("Check says %v", err)
	}
	put(t, s, pod(1, 2)) // and the store has not lost track
	check(t, s)
}

func TestUserFunctionsMayReadTheStore(t *testing.T) {
	var s *store.Store[*item]
	s = newStore(t, func(o *store.Options[*item]) {
		o.Indexers["join"] = func(*item) ([]string, error) { return []string{fmt.Sprint(count(s.Snapshot().All()), s.Len())}, nil }
	})
	put(t, s, pod(1, 1), pod(2, 1), pod(1, 2))
	if n, _ := s.IndexCount("join", "2 2"); n != 1 {
		t.Fatalf("%d under what was there before", n)
	}
}

func TestChangesSayWhatHappened(t *testing.T) {
	s := newStore(t)
	a, a2, last := pod(1, 1), pod(1, 2), pod(1, 3)
	key := store.Key(a.id)
	b := store.Batch[*item]{ResourceVersion: "9", Reason: store.Live, Ops: []store.Op[*item]{
		{Key: key, Object: a, ResourceVersion: "1"},
		{Key: key, Object: a2, ResourceVersion: "2"},
		{Key: key, Delete: true, HasObject: true, Object: last, ResourceVersion: "3"},
		{Key: key, Delete: true}, // absent: no change
		{Key: key, Object: a},
		{Key: key, Delete: true},
	}}
	got, err := s.Apply(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []store.Change[*item]{
		{Type: store.Added, Key: key, New: a, ResourceVersion: "1"},
		{Type: store.Updated, Key: key, Old: a, New: a2, ResourceVersion: "2"},
		{Type: store.Deleted, Key: key, Old: last, Last: a2, ResourceVersion: "3"},
		{Type: store.Added, Key: key, New: a, ResourceVersion: "9"},
		{Type: store.Deleted, Key: key, Old: a, Last: a, ResourceVersion: "9", FinalStateUnknown: true},
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	if s.ResourceVersion("") != "9" {
		t.Fatalf("at %q", s.ResourceVersion(""))
	}
}

func TestReplaceLooksAtNoObjectOutsideOfItsScopesSpan(t *testing.T) {
	const namespaces, each = 50, 40
	s := newStore(t)
	for i := range namespaces * each {
		put(t, s, &item{id: itemID{Namespace: fmt.Sprintf("ns-%02d", i/each), Name: fmt.Sprint("p", i)}})
	}
	asked := 0
	scope := store.Scope{ID: "ns-07", Span: store.NamespaceSpan("ns-07"), Contains: func(store.Key) bool { asked++; return true }}
	changes, err := s.Replace(store.Batch[*item]{Scope: scope}, nil)
	if err != nil || len(changes) != each || s.Len() != (namespaces-1)*each {
		t.Fatalf("%d changes, %d objects are left, %v", len(changes), s.Len(), err)
	}
	if asked != each {
		t.Errorf("the scope was asked for %d keys, %d are in its span", asked, each)
	}
}

func TestReplaceSweepsOnlyItsScope(t *testing.T) {
	s := newStore(t)
	for i := range 40 {
		put(t, s, pod(i, 1))
	}
	s.SetResourceVersion("other", "5")
	b := batchOf(pod(1, 2), pod(41, 2))
	b.Scope = store.Scope{ID: "ns-1", Contains: func(k store.Key) bool { return k.Namespace == "ns-1" }}
	b.ResourceVersion, b.Reason = "7", store.Relist
	changes, err := s.Replace(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Len() != 32 || s.ResourceVersion("ns-1") != "7" || s.ResourceVersion("other") != "5" || s.ResourceVersion("") != "" {
		t.Fatalf("%d objects; versions %q %q", s.Len(), s.ResourceVersion("ns-1"), s.ResourceVersion("other"))
	}
	for i, c := range changes {
		unknown := c.Type == store.Deleted
		if c.Key.Namespace != "ns-1" || c.Reason != store.Relist || c.ResourceVersion != "7" || c.FinalStateUnknown != unknown || unknown != (i > 1) {
			t.Errorf("change %d: %+v", i, c)
		}
	}
	if len(changes) != 11 {
		t.Fatalf("%d changes, want an update, an add and 9 deletes", len(changes))
	}
}

func TestReplaceKeepsWhatIsEqual(t *testing.T) {
	s := newStore(t, func(o *store.Options[*item]) {
		o.Equal = func(old, obj *item) bool {
			if old.trouble != "" {
				panic("trouble")
			}
			return old.rev == obj.rev
		}
	})
	old := pod(1, 1)
	odd := pod(3, 1)
	odd.trouble = "error"
	b := batchOf(old, pod(2, 1), odd)
	b.Ops[0].Memo = "memo"
	s.Replace(b, nil)
	changes, err := s.Replace(batchOf(pod(1, 1), pod(2, 2), pod(3, 1)), nil)
	if pe := (*store.PanicError)(nil); !errors.As(err, &pe) || len(store.Errors(err)) != 1 {
		t.Fatalf("Equal panicked, and the error is %v", err)
	}
	if len(changes) != 2 || changes[0].Key.Name != "pod-2" || changes[1].Key.Name != "pod-3" {
		t.Fatalf("changes: %+v", changes)
	}
	if got, memo, _ := s.Held(store.Key(old.id)); got != old || memo != "memo" {
		t.Fatalf("held is %v with %v", got, memo)
	}
}

func TestAMemoStaysUntilTheNextWriteOfItsObject(t *testing.T) {
	s := newStore(t)
	b := batchOf(pod(1, 1), pod(2, 1), pod(3, 1))
	b.Ops[0].Memo, b.Ops[1].Memo = "one", "two"
	s.Apply(b, nil)
	snap := s.Snapshot()
	put(t, s, pod(1, 2))
	s.Delete(store.Key(pod(2, 1).id))
	put(t, s, pod(4, 1)) // takes over the slot
	for i, want := range []any{nil, nil, nil, nil} {
		it := pod(i+1, 1)
		if _, memo, ok := s.Held(store.Key(it.id)); memo != want || ok != (i != 1) {
			t.Errorf("%v: memo %v, held %t", it.id, memo, ok)
		}
	}
	check(t, snap)
}

func TestRemovedIndexStaysInSnapshots(t *testing.T) {
	s := newStore(t)
	put(t, s, pod(1, 1))
	snap := s.Snapshot()
	objs, err := s.ByIndex("node", "node-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RemoveIndex("node"); err != nil {
		t.Fatal(err)
	}
	if n, err := snap.IndexCount("node", "node-1"); n != 1 || err != nil {
		t.Fatalf("the snapshot counts %d, %v", n, err)
	}
	if count(objs) != 0 {
		t.Fatal("a loop that begins after the removal finds something")
	}
	if _, err := s.ByIndex("node", "node-1"); !errors.Is(err, store.ErrNoIndex) {
		t.Fatal(err)
	}
}

func TestValuesAreStoredOnceAndObjectsThatAreNoPointersWork(t *testing.T) {
	type plain struct {
		name string
		tags [2]string
	}
	s, err := store.New(store.Options[plain]{
		KeyFunc:  func(p plain) (store.Key, error) { return store.Key{Name: p.name}, nil },
		Indexers: map[string]store.IndexFunc[plain]{"tag": func(p plain) ([]string, error) { return p.tags[:], nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []plain{{"a", [2]string{"x", "x"}}, {"b", [2]string{"x", "y"}}, {"", [2]string{"y", "z"}}} {
		if err := s.Put(p); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := s.IndexCount("tag", "x"); n != 2 {
		t.Fatalf("%d under x", n)
	}
	if p, ok := s.Get(store.Key{}); !ok || p.tags[1] != "z" {
		t.Fatalf("under the empty key: %v, %t", p, ok)
	}
	check(t, s)
}

func TestAPutIfChangedOfWhatIsHeldWritesNothing(t *testing.T) {
	asked := 0
	s := newStore(t, func(o *store.Options[*item]) {
		o.Equal = func(old, obj *item) bool { asked++; return old.id == obj.id && old.rev == obj.rev }
	})
	held := pod(1, 1)
	put(t, s, held)
	again := batchOf(pod(1, 1), pod(2, 1))
	for i := range again.Ops {
		again.Ops[i].IfChanged = true
	}
	if c, err := s.Apply(again, nil); err != nil || len(c) != 1 || c[0].Type != store.Added {
		t.Errorf("an equal and a new object: %v", c)
	}
	if got, _ := s.Get(store.Key(held.id)); got != held {
		t.Error("an equal object was written")
	}
	changed := batchOf(pod(1, 2))
	changed.Ops[0].IfChanged = true
	if c, err := s.Apply(changed, nil); err != nil || len(c) != 1 || c[0].Type != store.Updated {
		t.Errorf("a changed object: %v", c)
	}
	if asked != 2 {
		t.Errorf("Equal was asked %d times, want 2", asked)
	}
	if c, err := s.Apply(batchOf(pod(1, 2)), nil); err != nil || len(c) != 1 || asked != 2 {
		t.Errorf("without IfChanged: %v, asked %d times", c, asked)
	}
}

func TestAReplaceWhoseListEndsTheGoroutineLeavesAWholeStore(t *testing.T) {
	for _, held := range []int{0, 300} {
		s, _ := full(t, held)
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.ReplaceSeq(store.Batch[*item]{}, func(yield func(store.Op[*item]) bool) {
				for i := range 200 {
					it := pod(1000+i, 1)
					yield(store.Op[*item]{Key: store.Key(it.id), Object: it})
				}
				runtime.Goexit()
			}, nil)
		}()
		<-done
		if err := s.Check(); err != nil || s.Len() != held+200 {
			t.Errorf("%d objects of %d: %v", s.Len(), held+200, err)
		}
	}
}

func TestAReplaceThatEndsInItsChangesHasErasedWhatItWasToldOf(t *testing.T) {
	for _, told := range []int{1, 20, 280} {
		s, _ := full(t, 300)
		var gone []store.Key
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.ReplaceSeq(store.Batch[*item]{}, func(func(store.Op[*item]) bool) {}, func(c store.Change[*item]) {
				if gone = append(gone, c.Key); len(gone) == told {
					runtime.Goexit()
				}
			})
		}()
		<-done
		if err := s.Check(); err != nil || s.Len() != 300-told {
			t.Errorf("told of %d: %d objects are left: %v", told, s.Len(), err)
		}
		for _, key := range gone {
			if _, ok := s.Get(key); ok {
				t.Errorf("%s is told as deleted, and there", key)
			}
		}
	}
}

func TestAReplaceOfManyKeysIsConsistentInWhateverOrderTheyCome(t *testing.T) {
	const n = 20_000 // three levels of the tree
	s, _ := full(t, n/2)
	for round := range 4 {
		b := store.Batch[*item]{Reason: store.Relist}
		for i := range n {
			it := pod(round*n/4+i, 1)
			b.Ops = append(b.Ops, store.Op[*item]{Key: store.Key(it.id), Object: it})
		}
		if round%2 == 1 {
			rand.Shuffle(n, func(i, j int) { b.Ops[i], b.Ops[j] = b.Ops[j], b.Ops[i] })
		}
		before := s.Snapshot()
		s.Replace(b, nil)
		if err := s.Check(); err != nil || s.Len() != n {
			t.Fatalf("round %d: %d objects of %d: %v", round, s.Len(), n, err)
		}
		if err := before.Check(); err != nil {
			t.Fatalf("round %d: the version before: %v", round, err)
		}
	}
}
