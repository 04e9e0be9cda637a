package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

type labelled struct {
	key    Key
	values []string
}

func newLabelled(t testing.TB, indexers map[string]IndexFunc[*labelled]) *Store[*labelled] {
	t.Helper()
	s, err := New(Options[*labelled]{KeyFunc: func(o *labelled) (Key, error) { return o.key, nil }, Indexers: indexers})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func allValues(o *labelled) ([]string, error) { return o.values, nil }

func TestIndexStatsAreThoseOfANaiveCount(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	s := newLabelled(t, map[string]IndexFunc[*labelled]{"all": allValues, "first": func(o *labelled) ([]string, error) {
		return o.values[:min(1, len(o.values))], nil
	}})
	held := map[Key]*labelled{}
	check := func(v *Snapshot[*labelled]) {
		t.Helper()
		got := v.Stats().Indexes
		for i, pick := range []func(*labelled) []string{
			func(o *labelled) []string { return o.values },
			func(o *labelled) []string { return o.values[:min(1, len(o.values))] },
		} {
			counts, entries := map[string]int{}, 0
			for _, o := range held {
				seen := map[string]bool{}
				for _, value := range pick(o) {
					if !seen[value] {
						counts[value]++
						entries++
					}
					seen[value] = true
				}
			}
			most := 0
			for _, n := range counts {
				most = max(most, n)
			}
			want := IndexStats{Name: []string{"all", "first"}[i], Values: len(counts), Entries: entries,
				Largest: got[i].Largest, LargestObjects: most, Bytes: got[i].Bytes}
			if got[i] != want || counts[want.Largest] != most || (want.Bytes > 0) != (len(held) > 0) {
				t.Fatalf("%+v, want %+v", got[i], want)
			}
		}
	}
	check(s.Snapshot())
	for step := range 5000 {
		key := Key{Name: strconv.Itoa(r.IntN(500))}
		if r.IntN(4) == 0 {
			s.Delete(key)
			delete(held, key)
		} else {
			o := &labelled{key: key}
			for range r.IntN(4) {
				o.values = append(o.values, fmt.Sprint("value", r.IntN(1+r.IntN(300))))
			}
			if err := s.Put(o); err != nil {
				t.Fatal(err)
			}
			held[key] = o
		}
		if step%100 == 0 {
			check(s.Snapshot())
		}
	}
	for key := range held {
		s.Delete(key)
	}
	clear(held)
	check(s.Snapshot())
}

// heapOf returns by how much make grows the heap.
func heapOf(make func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&before)
	make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func TestTheEstimatedBytesAreThoseThatTheHeapGrowsBy(t *testing.T) {
	const n = 50_000
	objects := make([]*labelled, n)
	for i := range objects {
		objects[i] = &labelled{key: Key{Namespace: fmt.Sprint("ns", i%50), Name: fmt.Sprintf("some-pod-%06d", i)},
			values: []string{fmt.Sprint("node", i%500), fmt.Sprint("owner", i)}}
	}
	s := newLabelled(t, nil)
	var fails error
	grown := heapOf(func() {
		for _, o := range objects {
			if err := s.Put(o); err != nil {
				fails = err
			}
		}
	})
	if got := s.Snapshot().Stats().Bytes; !within(got, grown, 25) {
		t.Errorf("keys: %d bytes estimated, the heap grew by %d", got, grown)
	}
	for name, fn := range map[string]IndexFunc[*labelled]{
		"node":  func(o *labelled) ([]string, error) { return o.values[:1], nil },
		"owner": func(o *labelled) ([]string, error) { return o.values[1:], nil },
	} {
		grown := heapOf(func() {
			if err := s.AddIndex(name, fn); err != nil {
				fails = err
			}
		})
		if got := s.Snapshot().Stats().Indexes[0].Bytes; !within(got, grown, 35) {
			t.Errorf("%s: %d bytes estimated, the heap grew by %d", name, got, grown)
		}
		if err := s.RemoveIndex(name); err != nil {
			fails = err
		}
	}
	if fails != nil {
		t.Fatal(fails)
	}
	runtime.KeepAlive(objects)
}

func within(got, want, percent int64) bool {
	return got > want*(100-percent)/100 && got < want*(100+percent)/100
}

func TestStatsAreReadWhileAWriterWrites(t *testing.T) {
	s := newLabelled(t, map[string]IndexFunc[*labelled]{"all": allValues})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 5000 {
			if err := s.Put(&labelled{key: Key{Name: strconv.Itoa(i)}, values: []string{strconv.Itoa(i % 7)}}); err != nil {
				panic(err)
			}
		}
	})
	for range 200 {
		v := s.Snapshot()
		if st := v.Stats(); st.Indexes[0].Entries != v.Len() {
			t.Errorf("%d entries of %d objects", st.Indexes[0].Entries, v.Len())
		}
	}
	wg.Wait()
}

func BenchmarkStats(b *testing.B) {
	s := newLabelled(b, map[string]IndexFunc[*labelled]{"all": allValues})
	for i := range 100_000 {
		if err := s.Put(&labelled{key: Key{Name: fmt.Sprintf("pod-%06d", i)}, values: []string{strconv.Itoa(i % 500), strconv.Itoa(i)}}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s.Snapshot().Stats()
	}
}
