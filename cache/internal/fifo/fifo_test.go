package fifo_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// fifoOf returns a FIFO with version 1 of the keys.
func fifoOf(keys ...string) *fifo.FIFO[string, object] {
	f := fifo.NewFIFO(keyOf)
	for _, key := range keys {
		_ = f.Add(object{key: key, version: 1})
	}
	return f
}

// drain pops what waits, without processing it.
func drain(t *testing.T, f *fifo.FIFO[string, object]) (keys []string) {
	t.Helper()
	for f.Len() > 0 {
		o, err := f.Pop(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fmt.Sprintf("%s%d", o.key, o.version))
	}
	return keys
}

func wantKeys(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestTheNewestObjectIsPoppedOnceInThePlaceOfTheFirst(t *testing.T) {
	f := fifoOf("a", "b")
	_ = f.Add(object{key: "a", version: 2})
	_ = f.Add(object{key: "a", version: 3})
	wantKeys(t, drain(t, f), "a3", "b1")
}

func TestAddIfNotPresentDoesNotPushAsideWhatWaits(t *testing.T) {
	f := fifoOf("a")
	_ = f.AddIfNotPresent(object{key: "a", version: 2})
	_ = f.AddIfNotPresent(object{key: "b", version: 2})
	wantKeys(t, drain(t, f), "a1", "b2")
}

func TestADeletedObjectIsNotPopped(t *testing.T) {
	f := fifoOf("a", "b", "c")
	_ = f.Delete(object{key: "b"})
	f.DeleteKey("none")
	wantKeys(t, drain(t, f), "a1", "c1")
}

func TestADeletedKeyThatIsAddedAgainGoesToTheEnd(t *testing.T) {
	f := fifoOf("a", "b")
	f.DeleteKey("a")
	_ = f.Add(object{key: "a", version: 2})
	wantKeys(t, drain(t, f), "b1", "a2")
}

func TestReplaceLeavesItsListAndNothingElseInItsOrder(t *testing.T) {
	f := fifoOf("a", "b", "c")
	_ = f.Replace([]object{{key: "d", version: 2}, {key: "b", version: 2}, {key: "d", version: 3}})
	wantKeys(t, drain(t, f), "d3", "b2")
}

func TestErrRequeuePutsTheItemBackAndHandsOnItsInnerError(t *testing.T) {
	f := fifoOf("a", "b")
	o, err := f.Pop(t.Context(), func(object, bool) error { return fifo.ErrRequeue{Err: errProcess} })
	if o.key != "a" || err != errProcess {
		t.Fatalf("%v, %v", o, err)
	}
	wantKeys(t, drain(t, f), "b1", "a1")
}

func TestErrRequeueKeepsWhatIsNewer(t *testing.T) {
	f := fifoOf("a", "b")
	_, _ = f.Pop(t.Context(), func(object, bool) error {
		_ = f.Add(object{key: "a", version: 2})
		return fifo.ErrRequeue{}
	})
	wantKeys(t, drain(t, f), "b1", "a2")
}

func TestErrRequeueDoesNotBringBackWhatWasDeletedOrReplacedMeanwhile(t *testing.T) {
	for name, write := range map[string]func(*fifo.FIFO[string, object]){
		"deleted":                 func(f *fifo.FIFO[string, object]) { f.DeleteKey("a") },
		"replaced":                func(f *fifo.FIFO[string, object]) { _ = f.Replace([]object{{key: "b", version: 1}}) },
		"added and deleted again": func(f *fifo.FIFO[string, object]) { _ = f.Add(object{key: "a", version: 2}); f.DeleteKey("a") },
	} {
		t.Run(name, func(t *testing.T) {
			f := fifoOf("a", "b")
			_, _ = f.Pop(t.Context(), func(object, bool) error {
				write(f)
				return fifo.ErrRequeue{}
			})
			wantKeys(t, drain(t, f), "b1")
		})
	}
}

func TestAnyOtherErrorDropsTheItem(t *testing.T) {
	f := fifoOf("a")
	if _, err := f.Pop(t.Context(), func(object, bool) error { return errProcess }); err != errProcess || f.Len() != 0 {
		t.Fatalf("%v, %d left", err, f.Len())
	}
}

func TestAPanicOfAProcessFunctionPassesThroughAndLeavesTheQueueUsable(t *testing.T) {
	f := fifo.NewFIFO(keyOf)
	_ = f.Replace([]object{{key: "a", version: 1}})
	func() {
		defer func() {
			if recover() != errProcess {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = f.Pop(t.Context(), func(object, bool) error { panic(errProcess) })
	}()
	if !f.HasSynced() || f.Check() != nil {
		t.Error(f.HasSynced(), f.Check())
	}
	_ = f.Add(object{key: "a", version: 2})
	wantKeys(t, drain(t, f), "a2")
}

func TestSyncedAtOnceIfAnotherWriteCameFirst(t *testing.T) {
	for name, write := range map[string]func(*fifo.FIFO[string, object]){
		"Add":               func(f *fifo.FIFO[string, object]) { _ = f.Add(object{key: "a"}) },
		"AddIfNotPresent":   func(f *fifo.FIFO[string, object]) { _ = f.AddIfNotPresent(object{key: "a"}) },
		"Delete of nothing": func(f *fifo.FIFO[string, object]) { _ = f.Delete(object{key: "a"}) },
		"an empty Replace":  func(f *fifo.FIFO[string, object]) { _ = f.Replace(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			f := fifo.NewFIFO(keyOf)
			if f.HasSynced() {
				t.Fatal("a new queue is synced")
			}
			write(f)
			_ = f.Replace([]object{{key: "b"}})
			if !f.HasSynced() {
				t.Fatal("not synced")
			}
		})
	}
}

func TestSyncedIsNotReachedByAWriteThatWasRefused(t *testing.T) {
	f := fifo.NewFIFO(keyOf)
	_ = f.Add(object{})
	_ = f.Replace([]object{{}})
	if f.HasSynced() {
		t.Fatal("synced")
	}
}

func TestDeletingTheRestOfTheFirstBatchCompletesIt(t *testing.T) {
	f := fifo.NewFIFO(keyOf)
	_ = f.Replace([]object{{key: "a"}, {key: "b"}, {key: "c"}})
	_, _ = f.Pop(t.Context(), nil)
	f.DeleteKey("b")
	if f.HasSynced() {
		t.Fatal("synced with c waiting")
	}
	_ = f.Replace([]object{{key: "d"}})
	if !f.HasSynced() {
		t.Fatal("not synced, though nothing of the first batch is left")
	}
}

func TestAPopBatchIsOfTheFirstBatchOrNotAtAll(t *testing.T) {
	f := fifo.NewJournal(keyOf, fifo.Options[string, object]{})
	_ = f.Replace([]object{{key: "a"}, {key: "b"}})
	_ = f.Add(object{key: "c"})
	var sizes []string
	for f.Len() > 0 {
		_, err := f.PopBatch(t.Context(), 0, func(list []fifo.Record[string, object], initial bool) error {
			sizes = append(sizes, fmt.Sprint(len(list), initial))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wantKeys(t, sizes, "2 true", "1 false")
}

func TestAProcessFunctionMayUseTheQueueItIsCalledFrom(t *testing.T) {
	f := fifoOf("a", "b")
	_, _ = f.Pop(t.Context(), func(o object, _ bool) error {
		_ = f.Add(object{key: "c", version: 1})
		if o, err := f.Pop(t.Context(), nil); o.key != "b" || err != nil {
			t.Errorf("popped %v, %v within Pop", o, err)
		}
		f.Close()
		return nil
	})
	wantKeys(t, drain(t, f), "c1")
}

func TestAQueueWithoutKeyFunctionRefusesEveryWrite(t *testing.T) {
	f := fifo.NewFIFO[string, object](nil)
	if err := f.Add(object{key: "a"}); !errors.Is(err, fifo.ErrNoKeyFunc) {
		t.Fatal(err)
	}
	d := fifo.NewDeltaFIFO(nil, fifo.Options[string, object]{})
	if err := d.Replace([]object{{key: "a"}}); !errors.Is(err, fifo.ErrNoKeyFunc) {
		t.Fatal(err)
	}
}

func TestErrorsSayWhatFailed(t *testing.T) {
	for want, err := range map[string]error{
		"fifo: look-up of k in the known objects: broken": &fifo.LookupError[string]{Key: "k", Err: errors.New("broken")},
		"broken":                           fifo.ErrRequeue{Err: errors.New("broken")},
		"fifo: item is to be queued again": fifo.ErrRequeue{},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// An Add and a Delete of ever new keys: client-go's queue grows here.
func TestAddingAndDeletingDoesNotGrowTheQueue(t *testing.T) {
	f := fifo.NewFIFO(func(i int) (int, error) { return i, nil })
	grown := heapGrowth(func() {
		for i := range 200_000 {
			_ = f.Add(i)
			_ = f.Delete(i)
		}
	})
	if grown > 256<<10 {
		t.Fatalf("%d bytes are left", grown)
	}
	runtime.KeepAlive(f)
}

func TestADrainedQueueGivesItsRoomBack(t *testing.T) {
	f := fifo.NewFIFO(func(i int) (int, error) { return i, nil })
	grown := heapGrowth(func() {
		list := make([]int, 200_000)
		for i := range list {
			list[i] = i
		}
		_ = f.Replace(list)
		for range list {
			_, _ = f.Pop(t.Context(), nil)
		}
	})
	// The map alone would hold some 5 MB.
	if grown > 256<<10 {
		t.Fatalf("%d bytes are left", grown)
	}
	runtime.KeepAlive(f)
}

// heapGrowth returns by how many bytes the live heap grew.
func heapGrowth(do func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}
