package store_test

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newStore(t testing.TB, opts ...func(*store.Options[*item])) *store.Store[*item] {
	t.Helper()
	o := store.Options[*item]{KeyFunc: itemKey, Indexers: map[string]store.IndexFunc[*item]{
		"namespace": indexFuncs["namespace"], "node": indexFuncs["node"],
	}}
	for _, fn := range opts {
		fn(&o)
	}
	s, err := store.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pod(i, rev int) *item {
	return &item{id: itemID{Namespace: fmt.Sprintf("ns-%d", i%4), Name: fmt.Sprintf("pod-%d", i)}, rev: rev, node: fmt.Sprintf("node-%d", rev%5)}
}

// check fails unless s, a store or a snapshot, is consistent.
func check(t testing.TB, s interface{ Check() error }) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, s *store.Store[*item], items ...*item) {
	t.Helper()
	for _, it := range items {
		if err := s.Put(it); err != nil {
			t.Fatal(err)
		}
	}
}

func batchOf(items ...*item) store.Batch[*item] {
	var b store.Batch[*item]
	for _, it := range items {
		b.Ops = append(b.Ops, store.Op[*item]{Key: store.Key(it.id), Object: it})
	}
	return b
}

func count[T any](seq iter.Seq[T]) (n int) {
	for range seq {
		n++
	}
	return n
}

func TestNoDirtyReadOfAReplaceThatIsUnderWay(t *testing.T) {
	s := newStore(t)
	put(t, s, pod(1, 1), pod(2, 1))
	s.SetResourceVersion("", "1")
	looked := false
	b := batchOf(pod(3, 2), pod(4, 2))
	b.ResourceVersion = "2"
	b.Scope.Contains = func(store.Key) bool {
		// Called in the middle of the Replace.
		looked = true
		if n := s.Len(); n != 2 || count(s.All()) != 2 {
			t.Errorf("a reader sees %d objects amid a Replace", n)
		}
		if _, ok := s.Get(store.Key(pod(3, 0).id)); ok || s.ResourceVersion("") != "1" {
			t.Error("a reader sees what is not published")
		}
		return true
	}
	s.Replace(b, nil)
	if !looked || s.Len() != 2 || s.ResourceVersion("") != "2" {
		t.Fatalf("looked %t, %d objects at %q", looked, s.Len(), s.ResourceVersion(""))
	}
}

func TestNoNonRepeatableReadInASnapshot(t *testing.T) {
	s := newStore(t)
	a := pod(1, 1)
	put(t, s, a)
	snap := s.Snapshot()
	put(t, s, pod(1, 2))
	if got, _ := snap.Get(store.Key(a.id)); got != a {
		t.Fatalf("the snapshot shows %v now", got)
	}
	s.Delete(store.Key(a.id))
	put(t, s, pod(2, 1)) // takes over the slot
	if got, _ := snap.Get(store.Key(a.id)); got != a {
		t.Fatalf("the snapshot shows %v after the delete", got)
	}
	if _, ok := snap.Get(store.Key(pod(2, 1).id)); ok {
		t.Fatal("the snapshot shows a later object")
	}
}

func TestNoPhantomInAnIndexOfASnapshot(t *testing.T) {
	s := newStore(t)
	for i := range 500 {
		put(t, s, pod(i, 1))
	}
	snap := s.Snapshot()
	for i := range 500 {
		put(t, s, pod(i+250, 2))
	}
	if n, _ := snap.IndexCount("node", "node-1"); n != 500 {
		t.Fatalf("%d objects under the old value, want 500", n)
	}
	if n, _ := snap.IndexCount("node", "node-2"); n != 0 {
		t.Fatalf("%d objects under a value of later", n)
	}
	check(t, snap)
}

func TestNoLostUpdateAmongConcurrentWriters(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 300 {
				put(t, s, pod(w*1000+i, 1))
				if i%3 == 0 {
					s.Delete(store.Key(pod(w*1000+i, 1).id))
				}
			}
		})
	}
	all.Wait()
	if s.Len() != 800 {
		t.Fatalf("%d objects, want 800", s.Len())
	}
	check(t, s)
}

func TestNoTornReadBetweenObjectsAndIndexes(t *testing.T) {
	// Every write moves all objects from one node to the next, as one
	// Replace, or one by one; each snapshot must be of one moment.
	s := newStore(t)
	const n = 60
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for !stop.Load() {
				snap := s.Snapshot()
				objs := count(snap.All())
				indexed := 0
				values, _ := snap.IndexValues("node")
				for v := range values {
					byValue, _ := snap.ByIndex("node", v)
					for it := range byValue {
						if it.node != v {
							t.Errorf("%v under %q", it, v)
						}
						if got, ok := snap.Get(store.Key(it.id)); !ok || got != it {
							t.Errorf("Get says %v, the index %v", got, it)
						}
						indexed++
					}
				}
				if objs != snap.Len() || indexed != objs {
					t.Errorf("%d objects, %d counted, %d indexed", objs, snap.Len(), indexed)
				}
			}
		})
	}
	for rev := range 60 {
		var items []*item
		for i := range n {
			if (i+rev)%7 != 0 {
				items = append(items, pod(i, rev))
			}
		}
		if rev%2 == 0 {
			s.Replace(batchOf(items...), nil)
		} else {
			s.Apply(batchOf(items...), nil)
		}
	}
	stop.Store(true)
	all.Wait()
}

func TestReadYourWritesFromEveryGoroutine(t *testing.T) {
	s := newStore(t, remembering)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for rev := range 500 {
				it := pod(w, rev)
				put(t, s, it)
				if got, _ := s.GetString(store.Key(it.id).String()); got != it {
					t.Errorf("wrote %v, read %v by its string", it, got)
				}
				if got, _ := s.Get(store.Key(it.id)); got != it {
					t.Errorf("wrote %v, read %v", it, got)
				}
				if got, _ := s.Snapshot().Get(store.Key(it.id)); got != it {
					t.Errorf("wrote %v, the snapshot has %v", it, got)
				}
				if got, _, _ := s.Held(store.Key(it.id)); got != it {
					t.Errorf("wrote %v, held is %v", it, got)
				}
			}
		})
	}
	all.Wait()
}

func TestReadsOfOneKeyNeverGoBackwards(t *testing.T) {
	s := newStore(t, remembering)
	key := store.Key(pod(0, 0).id)
	text := key.String()
	put(t, s, pod(0, 0))
	var stop atomic.Bool
	var all sync.WaitGroup
	for r := range 4 {
		all.Go(func() {
			last := 0
			for !stop.Load() {
				var got *item
				switch r % 3 {
				case 0:
					got, _ = s.Get(key)
				case 1:
					got, _ = s.Snapshot().Get(key)
				case 2:
					got, _ = s.GetString(text)
				}
				if got.rev < last {
					t.Errorf("version %d after %d", got.rev, last)
				}
				last = got.rev
			}
		})
	}
	for rev := range 3000 {
		put(t, s, pod(0, rev))
	}
	stop.Store(true)
	all.Wait()
}

func TestAnIteratorStaysOnTheVersionAtWhichItsLoopBegan(t *testing.T) {
	s := newStore(t)
	put(t, s, pod(1, 1), pod(2, 1))
	objs, err := s.ByIndex("node", "node-1")
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, pod(3, 1))
	var seen int
	for range objs {
		seen++
		put(t, s, pod(10+seen, 1))
		s.Delete(store.Key(pod(1, 1).id))
	}
	if seen != 3 {
		t.Fatalf("%d objects in the loop, want the 3 of its beginning", seen)
	}
	if n := count(objs); n != 5 {
		t.Fatalf("a second loop sees %d objects, want 5", n)
	}
}

func TestWritesDoNotWaitForReaders(t *testing.T) {
	s := newStore(t)
	put(t, s, pod(1, 1), pod(2, 1))
	next, stop := iter.Pull(s.All()) // a reader that stands still
	defer stop()
	first, _ := next()
	done := make(chan struct{})
	go func() {
		defer close(done)
		put(t, s, pod(2, 2))
		s.Replace(batchOf(pod(3, 1)), nil)
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("writes wait for a reader")
	}
	second, _ := next()
	if _, more := next(); more || first.rev != 1 || second.rev != 1 {
		t.Fatalf("the reader saw %v and %v", first, second)
	}
}

func TestSnapshotIsTheSameUntilTheNextWrite(t *testing.T) {
	s := newStore(t)
	put(t, s, pod(1, 1))
	snap := s.Snapshot()
	s.Get(store.Key(pod(1, 1).id))
	if s.Snapshot() != snap {
		t.Fatal("another snapshot, with nothing written between")
	}
	put(t, s, pod(1, 2))
	if s.Snapshot() == snap {
		t.Fatal("the same snapshot after a write")
	}
	if names := slices.Collect(s.Keys()); len(names) != 1 {
		t.Fatal(names)
	}
}
