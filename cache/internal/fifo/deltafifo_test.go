package fifo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// told renders a popped item: Added a1, Deleted? a2 for an unknown final state.
func told(item fifo.Item[string, object]) string {
	var b strings.Builder
	b.WriteString(item.Key)
	for _, d := range item.Deltas {
		mark := ""
		switch d.Knowledge {
		case fifo.LastSeen:
			mark = "?"
		case fifo.KeyOnly:
			mark = "??"
		}
		fmt.Fprintf(&b, " %v%s%d", d.Type, mark, d.Object.version)
	}
	return b.String()
}

func drainDeltas(t *testing.T, f *fifo.DeltaFIFO[string, object]) (all []string) {
	t.Helper()
	for f.Len() > 0 {
		item, err := f.Pop(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, told(item))
	}
	return all
}

// deltasOver returns a queue whose known objects have version 1.
func deltasOver(keys ...string) (*fifo.DeltaFIFO[string, object], *known) {
	k := newKnown()
	for _, key := range keys {
		k.set(object{key: key, version: 1})
	}
	return fifo.NewDeltaFIFO(keyOf, fifo.Options[string, object]{Known: k, OnError: func(error) {}}), k
}

func TestDeltasAccumulatePerKey(t *testing.T) {
	f, _ := deltasOver()
	_ = f.Add(object{key: "a", version: 1})
	_ = f.Add(object{key: "b", version: 2})
	_ = f.Update(object{key: "a", version: 3})
	_ = f.Delete(object{key: "a", version: 4})
	_ = f.Add(object{key: "a", version: 5})
	wantKeys(t, drainDeltas(t, f), "a Added1 Updated3 Deleted4 Added5", "b Added2")
}

func TestOfTwoDeletesInARowTheOneThatKnowsMoreStays(t *testing.T) {
	exact := func(f *fifo.DeltaFIFO[string, object], version int) { _ = f.Delete(object{key: "a", version: version}) }
	lastSeen := func(f *fifo.DeltaFIFO[string, object], version int) {
		f.DeleteUnknown("a", object{key: "a", version: version})
	}
	keyOnly := func(f *fifo.DeltaFIFO[string, object], _ int) { f.DeleteKey("a") }
	for _, c := range []struct {
		name          string
		first, second func(*fifo.DeltaFIFO[string, object], int)
		want          string
	}{
		{"exact, exact", exact, exact, "a Deleted2"},
		{"exact, last seen", exact, lastSeen, "a Deleted2"},
		{"exact, key only", exact, keyOnly, "a Deleted2"},
		{"last seen, exact", lastSeen, exact, "a Deleted3"},
		{"last seen, last seen", lastSeen, lastSeen, "a Deleted?3"},
		{"last seen, key only", lastSeen, keyOnly, "a Deleted?2"},
		{"key only, exact", keyOnly, exact, "a Deleted3"},
		{"key only, last seen", keyOnly, lastSeen, "a Deleted?3"},
		{"key only, key only", keyOnly, keyOnly, "a Deleted??0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := deltasOver("a")
			c.first(f, 2)
			c.second(f, 3)
			wantKeys(t, drainDeltas(t, f), c.want)
		})
	}
}

func TestOnlyAdjacentDeletesFold(t *testing.T) {
	f, _ := deltasOver("a")
	for version := 2; version < 1000; version++ {
		_ = f.Update(object{key: "a", version: version})
	}
	if n := f.DeltaCount(); n != 998 {
		t.Fatalf("%d deltas, want 998", n)
	}
}

func TestADeleteOfWhatIsNeitherQueuedNorKnownIsIgnored(t *testing.T) {
	f, _ := deltasOver("known")
	_ = f.Delete(object{key: "unheard of", version: 2})
	_ = f.Delete(object{key: "known", version: 2})
	wantKeys(t, drainDeltas(t, f), "known Deleted2")
}

func TestReplaceTellsWhatVanishedFromQueueAndKnownObjects(t *testing.T) {
	f, k := deltasOver("known", "known and queued", "listed", "broken")
	k.broken["broken"] = true
	_ = f.Add(object{key: "queued", version: 2})
	_ = f.Update(object{key: "known and queued", version: 2})
	_ = f.Delete(object{key: "listed", version: 2})
	_ = f.Replace([]object{{key: "new", version: 3}, {key: "listed", version: 3}})
	wantKeys(t, drainDeltas(t, f),
		"queued Added2 Deleted?2",
		"known and queued Updated2 Deleted?2",
		"listed Deleted2 Replaced3",
		"new Replaced3",
		"broken Deleted??0",
		"known Deleted?1")
}

func TestReplaceCanSpeakOfSync(t *testing.T) {
	f := fifo.NewDeltaFIFO(keyOf, fifo.Options[string, object]{ReplaceAsSync: true})
	_ = f.Replace([]object{{key: "a", version: 1}})
	wantKeys(t, drainDeltas(t, f), "a Sync1")
}

func TestResyncEmitsSyncOnlyForKeysWithNothingQueuedOrInFlight(t *testing.T) {
	f, k := deltasOver("flying", "queued", "idle", "broken")
	k.broken["broken"] = true
	_ = f.Update(object{key: "flying", version: 2})
	_ = f.Update(object{key: "queued", version: 2})
	_, _ = f.Pop(t.Context(), func(fifo.Item[string, object], bool) error {
		f.Resync()
		return nil
	})
	wantKeys(t, drainDeltas(t, f), "queued Updated2", "idle Sync1")
}

func TestResyncIsNoFirstWrite(t *testing.T) {
	f, _ := deltasOver("a")
	f.Resync()
	if f.HasSynced() {
		t.Fatal("synced")
	}
	_ = f.Replace([]object{{key: "b", version: 2}})
	for range 2 {
		if f.HasSynced() {
			t.Fatal("synced before all is popped")
		}
		_, _ = f.Pop(t.Context(), nil)
	}
	if !f.HasSynced() {
		t.Fatal("not synced")
	}
}

func TestADeletionFoundWhileAKeyIsInFlightIsNotLost(t *testing.T) {
	for name, remove := range map[string]func(*fifo.DeltaFIFO[string, object]){
		"a Deleted9":  func(f *fifo.DeltaFIFO[string, object]) { _ = f.Delete(object{key: "a", version: 9}) },
		"a Deleted?2": func(f *fifo.DeltaFIFO[string, object]) { _ = f.Replace(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			f, k := deltasOver()
			_ = f.Add(object{key: "a", version: 2})
			_, _ = f.Pop(t.Context(), func(item fifo.Item[string, object], _ bool) error {
				remove(f) // neither waiting nor known yet
				k.apply(item)
				return nil
			})
			wantKeys(t, drainDeltas(t, f), name)
		})
	}
}

func TestADeletionInFlightIsNotToldAgain(t *testing.T) {
	f, k := deltasOver("a")
	_ = f.Delete(object{key: "a", version: 2})
	_, _ = f.Pop(t.Context(), func(item fifo.Item[string, object], _ bool) error {
		_ = f.Delete(object{key: "a", version: 2}) // still known
		_ = f.Replace(nil)
		f.Resync()
		k.apply(item)
		return nil
	})
	wantKeys(t, drainDeltas(t, f))
}

func TestErrRequeuePutsDeltasBeforeWhatHappenedMeanwhile(t *testing.T) {
	f, _ := deltasOver("a")
	_ = f.Add(object{key: "b", version: 2})
	_ = f.Update(object{key: "a", version: 2})
	_ = f.Delete(object{key: "a", version: 3})
	_, _ = f.Pop(t.Context(), func(fifo.Item[string, object], bool) error { return fifo.ErrRequeue{} })
	item, err := f.Pop(t.Context(), func(fifo.Item[string, object], bool) error {
		f.DeleteUnknown("a", object{key: "a", version: 2}) // ignored, see above
		_ = f.Add(object{key: "a", version: 4})
		return fifo.ErrRequeue{Err: errProcess}
	})
	if told(item) != "a Updated2 Deleted3" || err != errProcess {
		t.Fatal(told(item), err)
	}
	wantKeys(t, drainDeltas(t, f), "b Added2", "a Updated2 Deleted3 Added4")
}

func TestWhatPopReturnedIsTheCallersAlsoAfterErrRequeue(t *testing.T) {
	f, _ := deltasOver("a")
	f.DeleteUnknown("a", object{key: "a", version: 2})
	item, _ := f.Pop(t.Context(), func(fifo.Item[string, object], bool) error { return fifo.ErrRequeue{} })
	_ = f.Delete(object{key: "a", version: 3})
	if told(item) != "a Deleted?2" {
		t.Fatalf("the caller's item became %s", told(item))
	}
	wantKeys(t, drainDeltas(t, f), "a Deleted3")
}

func TestAddIfNotPresentTakesBackAPoppedItem(t *testing.T) {
	f, _ := deltasOver()
	_ = f.Add(object{key: "a", version: 1})
	item, _ := f.Pop(t.Context(), nil)
	f.AddIfNotPresent(item)
	f.AddIfNotPresent(fifo.Item[string, object]{Key: "a", Deltas: fifo.Deltas[object]{{Type: fifo.Sync}}})
	wantKeys(t, drainDeltas(t, f), "a Added1")
}

func TestDeltasGivenToOrReadFromTheQueueAreCopied(t *testing.T) {
	f, _ := deltasOver()
	item := fifo.Item[string, object]{Key: "a", Deltas: fifo.Deltas[object]{{Type: fifo.Added, Object: object{key: "a", version: 1}}}}
	f.AddIfNotPresent(item)
	read, _ := f.GetByKey("a")
	item.Deltas[0].Type, read[0].Type = fifo.Sync, fifo.Sync
	wantKeys(t, drainDeltas(t, f), "a Added1")
}

func TestAnObjectIsTransformedOnceHoweverOftenItIsQueued(t *testing.T) {
	k := newKnown()
	f := fifo.NewDeltaFIFO(keyOf, fifo.Options[string, object]{Known: k, Transform: transform})
	consume := func(again error) {
		_, _ = f.Pop(t.Context(), func(item fifo.Item[string, object], _ bool) error {
			for _, d := range item.Deltas {
				if d.Object.transformed != 1 {
					t.Errorf("%v %v was transformed %d times", item.Key, d.Type, d.Object.transformed)
				}
			}
			if again == nil {
				k.apply(item)
			}
			return again
		})
	}
	_ = f.Replace([]object{{key: "a", version: 1}})
	consume(fifo.ErrRequeue{})
	consume(nil)
	f.Resync()
	consume(nil)
	_ = f.Replace(nil)
	consume(nil)
	if len(k.versions()) != 0 || f.Len() != 0 {
		t.Fatal(k.versions(), f.Len())
	}
}

func TestNewestSaysIfThereIsOne(t *testing.T) {
	var none fifo.Deltas[object]
	if _, ok := none.Newest(); ok {
		t.Error("newest of none")
	}
	two := fifo.Deltas[object]{{Type: fifo.Added}, {Type: fifo.Updated}}
	if newest, ok := two.Newest(); !ok || newest.Type != fifo.Updated {
		t.Error(newest, ok)
	}
}
