package cache

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
)

// job is an object with a rank.
type job struct {
	key  string
	rank int
}

func jobKey(obj any) (string, error) {
	if j, ok := obj.(job); ok {
		return j.key, nil
	}
	return "", errors.New("no job")
}

func newJobs() *Heap {
	return NewHeap(jobKey, func(a, b any) bool { return a.(job).rank < b.(job).rank })
}

func TestAHeapPopsTheLeastLikeASortedList(t *testing.T) {
	r := seeded(t)
	h := newJobs()
	twin := map[string]job{}
	for range 20000 {
		j := job{strconv.Itoa(r.IntN(300)), r.IntN(1000)}
		_, there := twin[j.key]
		var err error
		switch r.IntN(6) {
		case 0:
			err = h.Add(j)
			twin[j.key] = j
		case 1:
			err = h.Update(j)
			twin[j.key] = j
		case 2:
			if err = h.AddIfNotPresent(j); !there {
				twin[j.key] = j
			}
		case 3:
			if err = h.Delete(j); (err == nil) != there {
				t.Fatalf("Delete of %v, there %t: %v", j, there, err)
			}
			err = nil
			delete(twin, j.key)
		case 4:
			list := []any{j, job{strconv.Itoa(r.IntN(300)), r.IntN(1000)}, j}
			err = h.BulkAdd(list)
			for _, j := range list {
				twin[j.(job).key] = j.(job)
			}
		case 5:
			if len(twin) == 0 {
				continue
			}
			var got any
			got, err = h.Pop()
			least := slices.MinFunc(slices.Collect(maps.Values(twin)), func(a, b job) int { return cmp.Compare(a.rank, b.rank) })
			if j := got.(job); twin[j.key] != j || j.rank != least.rank {
				t.Fatalf("popped %v, the least is %v", got, least)
			}
			delete(twin, got.(job).key)
		}
		if err != nil {
			t.Fatal(err)
		}
		got, ok, _ := h.Get(j)
		if want, there := twin[j.key]; ok != there || there && got != any(want) {
			t.Fatalf("Get(%v) = %v, %t; want %v, %t", j, got, ok, want, there)
		}
	}
	if keys := slices.Sorted(slices.Values(h.ListKeys())); !slices.Equal(keys, slices.Sorted(maps.Keys(twin))) {
		t.Errorf("keys are %q", keys)
	}
	if len(h.List()) != len(twin) {
		t.Errorf("%d objects, want %d", len(h.List()), len(twin))
	}
}

func TestAnObjectWithoutAKeyPutsNothingInAHeap(t *testing.T) {
	h := newJobs()
	_, _, getErr := h.Get("x")
	for what, err := range map[string]error{
		"Add": h.Add("x"), "BulkAdd": h.BulkAdd([]any{job{"a", 1}, "x"}), "Delete": h.Delete("x"), "Get": getErr,
		"AddIfNotPresent": h.AddIfNotPresent("x"), "Update": h.Update("x"),
	} {
		if ke := (KeyError{}); !errors.As(err, &ke) || ke.Obj != "x" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(h.List()) != 0 {
		t.Errorf("the heap has %v", h.List())
	}
}

func TestPopWaitsForAnObjectOrTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newJobs()
		popped := make(chan any, 1)
		go func() { obj, _ := h.Pop(); popped <- obj }()
		synctest.Wait()
		if len(popped) != 0 {
			t.Fatal("Pop did not wait")
		}
		if err := h.Add(job{"a", 1}); err != nil {
			t.Fatal(err)
		}
		if got := <-popped; got != any(job{"a", 1}) {
			t.Errorf("popped %v", got)
		}
		if err := h.Add(job{"b", 1}); err != nil {
			t.Fatal(err)
		}
		h.Close()
		if !h.IsClosed() || h.Add(job{"c", 1}) == nil || h.BulkAdd(nil) == nil || h.AddIfNotPresent(job{"c", 1}) == nil {
			t.Error("a closed heap takes objects")
		}
		if got, err := h.Pop(); err != nil || got != any(job{"b", 1}) {
			t.Errorf("what was there at Close: %v, %v", got, err)
		}
		if _, err := h.Pop(); err == nil {
			t.Error("an empty, closed heap pops")
		}
	})
}
