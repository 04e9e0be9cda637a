package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

func remembering(o *store.Options[*item]) { o.RememberKeys = true }

// unkeyed stores objects under whatever key they come with.
func unkeyed(o *store.Options[*item]) { o.KeyFunc, o.RememberKeys = nil, true }

// TestRememberedKeysOutliveObjectsThatAreRenamed renames what is stored, which
// nobody may do, while trees split and join, and snapshots are held.
func TestRememberedKeysOutliveObjectsThatAreRenamed(t *testing.T) {
	s := newStore(t, unkeyed)
	rnd := seeded(t)
	held := map[store.Key]*item{}
	var kept []*store.Snapshot[*item]
	for i := range 6000 {
		key := store.Key{Namespace: fmt.Sprint("ns-", rnd.IntN(3)), Name: fmt.Sprint("a-rather-long-common-prefix-", rnd.IntN(900))}
		if it := held[key]; it != nil && rnd.IntN(2) == 0 {
			if err := s.Write(store.Op[*item]{Key: key, Delete: true}); err != nil {
				t.Fatal(err)
			}
			delete(held, key)
		} else {
			it := &item{id: itemID(key), node: fmt.Sprint("node-", i%5)}
			if err := s.Write(store.Op[*item]{Key: key, Object: it}); err != nil {
				t.Fatal(err)
			}
			held[key] = it
			it.id.Name = fmt.Sprint(rnd.IntN(1e6))
			it.id.Namespace = "renamed"
		}
		if i%1000 == 0 {
			kept = append(kept, s.Snapshot())
		}
	}
	if s.Len() != len(held) {
		t.Fatalf("%d objects, want %d", s.Len(), len(held))
	}
	keys := slices.Collect(s.Keys())
	if !slices.IsSortedFunc(keys, store.Key.Compare) || len(keys) != len(held) {
		t.Fatalf("%d keys, in order: %t", len(keys), slices.IsSortedFunc(keys, store.Key.Compare))
	}
	for key, it := range held {
		if got, _ := s.Get(key); got != it {
			t.Fatalf("%s is %v, want %v", key, got, it)
		}
	}
	for _, snap := range kept {
		for key := range snap.Keys() {
			if _, ok := snap.Get(key); !ok {
				t.Fatalf("a kept snapshot has lost %s", key)
			}
		}
	}
}

func TestCheckFindsARenamedObjectThoughItStaysUnderItsKey(t *testing.T) {
	s := newStore(t, remembering)
	it := pod(1, 1)
	put(t, s, it)
	key := store.Key(it.id)
	it.id.Name = "renamed"
	if err := s.Check(); err == nil {
		t.Error("Check finds nothing")
	}
	if got, _ := s.Get(key); got != it {
		t.Errorf("the object is not where it was stored: %v", got)
	}
}

func TestAStoreWithoutAKeyFunctionRefusesAPutThatNamesNoKey(t *testing.T) {
	s := newStore(t, unkeyed)
	var ke *store.KeyError
	if err := s.Put(pod(1, 1)); !errors.As(err, &ke) || !errors.Is(err, store.ErrNoKeyFunc) {
		t.Errorf("Put: %v", err)
	}
	if s.Len() != 0 {
		t.Errorf("%d objects", s.Len())
	}
}

func TestWriteMakesOneOperationWithItsVersion(t *testing.T) {
	s := newStore(t)
	it := pod(1, 1)
	key := store.Key(it.id)
	write := func(op store.Op[*item]) {
		t.Helper()
		if err := s.Write(op); err != nil {
			t.Fatal(err)
		}
		if rv := s.ResourceVersion(""); op.ResourceVersion != "" && rv != op.ResourceVersion {
			t.Errorf("the version is %q, want %q", rv, op.ResourceVersion)
		}
	}
	write(store.Op[*item]{Key: key, Object: it, ResourceVersion: "5", Memo: "memo"})
	if got, memo, ok := s.Held(key); got != it || memo != "memo" || !ok {
		t.Errorf("held are %v, %v, %v", got, memo, ok)
	}
	var ke *store.KeyError
	if err := s.Write(store.Op[*item]{Key: store.Key{Name: "another"}, Object: it, ResourceVersion: "6"}); !errors.As(err, &ke) {
		t.Errorf("under another key: %v", err)
	}
	if s.Len() != 1 || s.ResourceVersion("") != "5" {
		t.Errorf("a write that was refused changed something: %d objects at %q", s.Len(), s.ResourceVersion(""))
	}
	write(store.Op[*item]{Key: key, Delete: true, ResourceVersion: "7"})
	if s.Len() != 0 {
		t.Errorf("%d objects after the delete", s.Len())
	}
	write(store.Op[*item]{Key: key, Delete: true, ResourceVersion: "8"})
}

func TestNoDirtyReadOfABatchThatIsAppliedAtOnce(t *testing.T) {
	const n = 500 // more than a draft holds otherwise
	s := newStore(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			snap := s.Snapshot()
			revs := map[int]bool{}
			for it := range snap.All() {
				revs[it.rev] = true
			}
			if snap.Len() != 0 && snap.Len() != n || len(revs) > 1 {
				t.Errorf("a reader sees %d objects of %d batches", snap.Len(), len(revs))
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for rev := range 60 {
		b := store.Batch[*item]{AtOnce: true}
		for i := range n {
			it := pod(i, rev)
			b.Ops = append(b.Ops, store.Op[*item]{Key: store.Key(it.id), Object: it, Delete: rev%3 == 2})
		}
		s.Apply(b, nil)
	}
	close(stop)
	<-done
	check(t, s)
}

func TestReplaceRewritesTheVeryObjectWhenToldTo(t *testing.T) {
	equal := func(o *store.Options[*item]) {
		o.Equal = func(a, b *item) bool { return reflect.DeepEqual(a, b) }
	}
	for name, opts := range map[string][]func(*store.Options[*item]){"": nil, "with Equal": {equal}} {
		t.Run(name, func(t *testing.T) { rewrites(t, newStore(t, opts...)) })
	}
}

func rewrites(t *testing.T, s *store.Store[*item]) {
	it := pod(1, 1)
	put(t, s, it)
	it.node = "moved"
	b := batchOf(it)
	s.Replace(b, nil)
	if n, _ := s.IndexCount("node", "moved"); n != 0 {
		t.Fatal("Replace looked at an object that it holds already")
	}
	b.Rewrite = true
	s.Replace(b, nil)
	if n, _ := s.IndexCount("node", "moved"); n != 1 {
		t.Error("not found under its new value")
	}
	check(t, s)
}

func TestIndexKeysAreTheKeysOfByIndex(t *testing.T) {
	for name, opt := range map[string]func(*store.Options[*item]){"read": func(*store.Options[*item]) {}, "remembered": remembering} {
		s := newStore(t, opt)
		for i := range 400 {
			put(t, s, pod(i, i))
		}
		put(t, s, &item{id: itemID{Name: "alone"}, node: "alone"})
		snap := s.Snapshot()
		for _, value := range []string{"node-1", "alone", "absent"} {
			objs, _ := snap.ByIndex("node", value)
			keys, err := snap.IndexKeys("node", value)
			if err != nil {
				t.Fatal(err)
			}
			var want []store.Key
			for it := range objs {
				want = append(want, store.Key(it.id))
			}
			if got := slices.Collect(keys); !slices.Equal(got, want) {
				t.Errorf("%s: under %q are %v, want %v", name, value, got, want)
			}
			for range keys {
				break
			}
		}
		if _, err := snap.IndexKeys("none", ""); !errors.Is(err, store.ErrNoIndex) {
			t.Errorf("%s: of no index: %v", name, err)
		}
	}
}
