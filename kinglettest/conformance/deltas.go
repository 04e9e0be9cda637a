package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	kc "k8s.io/client-go/tools/cache"
)

func deltasRow() row {
	return row{
		id:    "deltas",
		needs: []string{"NewDeltaFIFO*", "NewRealFIFO*", "NewStore"},
		tests: append([]test{
			{sentence: "deltas of a key accumulate in order, and keys come first in first out", run: deltasAccumulate},
			{sentence: "random operations hand out what a list a key would", run: deltasEqualLists},
			{sentence: "two deletes in a row fold into the one that knows more", run: deltasFold},
			{sentence: "a delete of what nobody knows is ignored", run: deltasDeleteUnknown},
			{sentence: "replace says Sync, or Replaced where asked for", run: deltasReplaceType},
			{sentence: "replace deletes what vanished from the known objects and from the queue", run: deltasReplaceDeletes},
			{sentence: "a delete from a replace keeps the final state that is queued already", run: deltasReplaceKeepsFinalState},
			{sentence: "replace deletes without object what the known objects fail to give", run: deltasReplaceLookupFails},
			{sentence: "resync says Sync for known objects with nothing queued", run: deltasResync},
			{sentence: "a transformer sees an object once, before it is queued", run: deltasTransform},
			{sentence: "the key of deltas is that of the newest, of unknown state its own", run: deltasKeyOf},
			{sentence: "keys are namespace/name where no key function is given", run: deltasDefaultKey},
			{sentence: "it has synced when the first replace is popped, with its deletes", run: deltasSynced},
			{sentence: "it has synced at once when another write came first", run: deltasSyncedByWrite},
			{sentence: "pop waits for something, or for the end", run: deltasWait},
			{sentence: "a key error is a KeyError and queues nothing", run: deltasKeyErrors},
			{sentence: "a failed process hands on its error, and the deltas are gone", run: deltasProcessError},
			{sentence: "oldest and newest are the ends of the list", run: deltasEnds},
		}, realFIFOTests()...),
	}
}

// say describes deltas: "Added {a 1}, Deleted {a 2} unknown".
func say(obj any) string {
	var words []string
	for _, d := range obj.(kc.Deltas) {
		words = append(words, sayDelta(d))
	}
	return strings.Join(words, ", ")
}

func sayDelta(d kc.Delta) string {
	switch o := d.Object.(type) {
	case kc.DeletedFinalStateUnknown:
		return fmt.Sprintf("%s %v of %s unknown", d.Type, o.Obj, o.Key)
	case kc.ReplacedAllInfo:
		return fmt.Sprintf("%s %v at %s", d.Type, o.Objects, o.ResourceVersion)
	case kc.BookmarkInfo:
		return fmt.Sprintf("%s at %s", d.Type, o.ResourceVersion)
	case kc.SyncAllInfo:
		return string(d.Type)
	default:
		return fmt.Sprintf("%s %v", d.Type, o)
	}
}

// left closes a queue of deltas and describes what was in it.
func left(t *testing.T, q kc.Queue) []string {
	t.Helper()
	var list []string
	for _, item := range drained(t, q) {
		list = append(list, say(item))
	}
	return list
}

// known makes a store with objects, for the known objects of a queue.
func known(t *testing.T, im Implementation, objects ...keyed) kc.Store {
	s := im.NewStore(keyOfKeyed)
	for _, k := range objects {
		must(t, s.Add(k))
	}
	return s
}

func deltasAccumulate(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Update(keyed{"a", 3}))
	must(t, q.Delete(keyed{"a", 4}))
	must(t, q.Add(keyed{"a", 5}))
	equal(t, "first", say(popOne(t, q)), "Added {a 1}, Updated {a 3}, Deleted {a 4}, Added {a 5}")
	must(t, q.Update(keyed{"a", 6}))
	same(t, "the rest", left(t, q), "Added {b 2}", "Updated {a 6}")
}

func deltasFold(t *testing.T, im Implementation) {
	unknown := func(value int) kc.DeletedFinalStateUnknown {
		return kc.DeletedFinalStateUnknown{Key: "a", Obj: keyed{"a", value}}
	}
	for _, c := range []struct {
		deletes []any
		want    string
	}{
		{[]any{keyed{"a", 2}, keyed{"a", 3}}, "Added {a 1}, Deleted {a 2}"},
		{[]any{keyed{"a", 2}, unknown(3)}, "Added {a 1}, Deleted {a 2}"},
		{[]any{unknown(2), keyed{"a", 3}}, "Added {a 1}, Deleted {a 3}"},
		{[]any{unknown(2), unknown(3)}, "Added {a 1}, Deleted {a 3} of a unknown"},
		{[]any{unknown(2), keyed{"a", 3}, unknown(4), keyed{"a", 5}}, "Added {a 1}, Deleted {a 3}"},
	} {
		q := im.NewDeltaFIFO(keyOfKeyed, nil)
		must(t, q.Add(keyed{"a", 1}))
		for _, d := range c.deletes {
			must(t, q.Delete(d))
		}
		same(t, fmt.Sprint("deletes of ", c.deletes), left(t, q), c.want)
	}
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Delete(keyed{"a", 2}))
	must(t, q.Add(keyed{"a", 3}))
	must(t, q.Delete(keyed{"a", 4}))
	same(t, "deletes with an add between", left(t, q), "Added {a 1}, Deleted {a 2}, Added {a 3}, Deleted {a 4}")
}

func deltasDeleteUnknown(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Delete(keyed{"a", 1}))
	equal(t, "synced", q.HasSynced(), true)
	same(t, "without known objects", left(t, q))

	q = im.NewDeltaFIFO(keyOfKeyed, known(t, im, keyed{"a", 1}))
	must(t, q.Delete(keyed{"a", 2}))
	must(t, q.Delete(keyed{"b", 3}))
	must(t, q.Add(keyed{"c", 4}))
	must(t, q.Delete(keyed{"c", 5}))
	same(t, "with known objects", left(t, q), "Deleted {a 2}", "Added {c 4}, Deleted {c 5}")
}

func deltasReplaceType(t *testing.T, im Implementation) {
	for _, c := range []struct {
		replaced bool
		want     string
	}{{false, "Sync"}, {true, "Replaced"}} {
		q := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{KeyFunction: keyOfKeyed, EmitDeltaTypeReplaced: c.replaced})
		must(t, q.Add(keyed{"a", 1}))
		must(t, q.Replace([]any{keyed{"a", 2}, keyed{"b", 3}}, "1"))
		same(t, "after Replace", left(t, q), "Added {a 1}, "+c.want+" {a 2}", c.want+" {b 3}")
	}
}

func deltasReplaceDeletes(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{
		KeyFunction: keyOfKeyed, EmitDeltaTypeReplaced: true,
		KnownObjects: known(t, im, keyed{"known", 1}, keyed{"both", 2}, keyed{"stays", 3}),
	})
	must(t, q.Add(keyed{"queued", 4}))
	must(t, q.Update(keyed{"queued", 5}))
	must(t, q.Update(keyed{"both", 6}))
	must(t, q.Replace([]any{keyed{"stays", 7}}, "1"))
	same(t, "after Replace", sorted(left(t, q)),
		"Added {queued 4}, Updated {queued 5}, Deleted {queued 5} of queued unknown",
		"Deleted {known 1} of known unknown",
		"Replaced {stays 7}",
		"Updated {both 6}, Deleted {both 6} of both unknown",
	)

	alone := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, alone.Add(keyed{"queued", 1}))
	must(t, alone.Replace(nil, "1"))
	same(t, "after Replace without known objects", left(t, alone), "Added {queued 1}, Deleted {queued 1} of queued unknown")
}

func deltasReplaceKeepsFinalState(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, known(t, im, keyed{"a", 1}))
	must(t, q.Delete(keyed{"a", 2}))
	must(t, q.Replace(nil, "1"))
	same(t, "a delete that was seen", left(t, q), "Deleted {a 2}")

	q = im.NewDeltaFIFO(keyOfKeyed, known(t, im, keyed{"a", 1}))
	must(t, q.Replace(nil, "1"))
	must(t, q.Replace(nil, "2"))
	must(t, q.Replace([]any{keyed{"a", 3}}, "3"))
	must(t, q.Replace(nil, "4"))
	same(t, "deletes that were not", left(t, q), "Deleted {a 1} of a unknown, Sync {a 3}, Deleted {a 3} of a unknown")
}

// lossy lists keys for which it has no object.
type lossy struct{}

func (lossy) ListKeys() []string { return []string{"failing", "vanished"} }

func (lossy) GetByKey(key string) (any, bool, error) {
	if key == "failing" {
		return keyed{"failing", 1}, true, errBad
	}
	return nil, false, nil
}

func deltasReplaceLookupFails(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, lossy{})
	must(t, q.Replace([]any{keyed{"a", 1}}, "1"))
	same(t, "after Replace", sorted(left(t, q)),
		"Deleted <nil> of failing unknown", "Deleted <nil> of vanished unknown", "Sync {a 1}")

	q = im.NewDeltaFIFO(keyOfKeyed, lossy{})
	must(t, q.Resync())
	same(t, "after Resync", left(t, q))
}

func deltasResync(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, known(t, im, keyed{"a", 1}, keyed{"b", 2}, keyed{"c", 3}))
	must(t, q.Update(keyed{"b", 4}))
	must(t, q.Delete(keyed{"c", 5}))
	must(t, q.Resync())
	must(t, q.Resync())
	same(t, "after Resync", left(t, q), "Updated {b 4}", "Deleted {c 5}", "Sync {a 1}")

	q = im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Resync())
	same(t, "after Resync without known objects", left(t, q))
}

func deltasTransform(t *testing.T, im Implementation) {
	var seen []string
	q := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{
		KeyFunction: keyOfKeyed, EmitDeltaTypeReplaced: true, KnownObjects: known(t, im, keyed{"known", 1}, keyed{"resynced", 2}),
		Transformer: func(obj any) (any, error) {
			seen = append(seen, fmt.Sprint(obj))
			k := obj.(keyed)
			if k.value == 13 {
				return nil, errBad
			}
			k.value *= 10
			return k, nil
		},
	})
	must(t, q.Resync())
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Update(keyed{"a", 2}))
	must(t, q.Delete(keyed{"a", 3}))
	if err := q.Add(keyed{"a", 13}); !errors.Is(err, errBad) {
		t.Errorf("Add of what cannot be transformed: %v", err)
	}
	same(t, "the transformer saw", seen, "{a 1}", "{a 2}", "{a 3}", "{a 13}")
	seen = nil
	must(t, q.Replace([]any{keyed{"b", 4}, keyed{"resynced", 5}}, "1"))
	same(t, "the transformer saw in Replace", seen, "{b 4}", "{resynced 5}")
	same(t, "deltas", sorted(left(t, q)),
		"Added {a 10}, Updated {a 20}, Deleted {a 30}", "Replaced {b 40}",
		"Sync {known 1}, Deleted {known 1} of known unknown", "Sync {resynced 2}, Replaced {resynced 50}")
}

func deltasKeyOf(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	for _, c := range []struct {
		obj  any
		want string
	}{
		{keyed{"a", 1}, "a"},
		{kc.DeletedFinalStateUnknown{Key: "b"}, "b"},
		{kc.Deltas{{Type: kc.Added, Object: keyed{"c", 1}}, {Type: kc.Deleted, Object: kc.DeletedFinalStateUnknown{Key: "d"}}}, "d"},
	} {
		equal(t, "key", value(q.KeyOf(c.obj))(t), c.want)
	}
	var keyErr kc.KeyError
	_, err := q.KeyOf(kc.Deltas{})
	if !errors.As(err, &keyErr) || !errors.Is(err, kc.ErrZeroLengthDeltasObject) {
		t.Errorf("the key of no deltas: %v", err)
	}
	if _, err := q.KeyOf(keyed{"bad", 1}); !errors.Is(err, errBad) {
		t.Errorf("the key of a bad object: %v", err)
	}
}

func deltasDefaultKey(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{Name: "my queue"})
	equal(t, "key", value(q.KeyOf(pod("ns", "a")))(t), "ns/a")
	equal(t, "name", q.HasSyncedChecker().Name(), "my queue")
}

func deltasSynced(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, known(t, im, keyed{"gone", 1}))
	equal(t, "synced at first", q.HasSynced(), false)
	must(t, q.Replace([]any{keyed{"a", 1}, keyed{"b", 2}}, "1"))
	var flags []bool
	for range 3 {
		equal(t, "synced before the batch is popped", q.HasSynced(), false)
		equal(t, "done before the batch is popped", isDone(q.HasSyncedChecker()), false)
		_, err := q.Pop(func(_ any, initial bool) error { flags = append(flags, initial); return nil })
		must(t, err)
	}
	equal(t, "synced", q.HasSynced(), true)
	equal(t, "done", isDone(q.HasSyncedChecker()), true)
	must(t, q.Replace([]any{keyed{"c", 1}}, "2"))
	equal(t, "synced after another Replace", q.HasSynced(), true)
	_, err := q.Pop(func(_ any, initial bool) error { flags = append(flags, initial); return nil })
	must(t, err)
	// Whether client-go's last item of the batch counts as initial depends on whether
	// it counts before or after processing; only the others are certain.
	same(t, "initial", []bool{flags[0], flags[1], flags[3]}, true, true, false)

	empty := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, empty.Replace(nil, "1"))
	equal(t, "synced by an empty Replace", empty.HasSynced(), true)
}

func deltasSyncedByWrite(t *testing.T, im Implementation) {
	for what, write := range map[string]func(kc.Queue) error{
		"Add":    func(q kc.Queue) error { return q.Add(keyed{"a", 1}) },
		"Update": func(q kc.Queue) error { return q.Update(keyed{"a", 1}) },
		"Delete": func(q kc.Queue) error { return q.Delete(keyed{"a", 1}) },
	} {
		q := im.NewDeltaFIFO(keyOfKeyed, nil)
		must(t, write(q))
		equal(t, "synced after "+what, q.HasSynced(), true)
		must(t, q.Replace([]any{keyed{"b", 1}}, "1"))
		equal(t, "synced after a Replace that follows "+what, q.HasSynced(), true)
	}
}

func deltasWait(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	done := popping(q)
	equal(t, "Pop of an empty queue", outcome(done), "waits")
	must(t, q.Add(keyed{"a", 1}))
	equal(t, "Pop after Add", outcome(done), "[{Added {a 1}}], <nil>")
	done = popping(q)
	equal(t, "Pop of an empty queue", outcome(done), "waits")
	equal(t, "closed", q.IsClosed(), false)
	q.Close()
	equal(t, "Pop at Close", outcome(done), "<nil>, "+kc.ErrFIFOClosed.Error())
	equal(t, "closed", q.IsClosed(), true)
}

func deltasKeyErrors(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Add(keyed{"a", 1}))
	for what, err := range map[string]error{
		"Add": q.Add(keyed{"bad", 1}), "Update": q.Update(keyed{"bad", 1}), "Delete": q.Delete(keyed{"bad", 1}),
		"Replace": q.Replace([]any{keyed{"bad", 1}}, "1"),
	} {
		var keyErr kc.KeyError
		if !errors.As(err, &keyErr) || !errors.Is(err, errBad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, "what is left", left(t, q), "Added {a 1}")
}

func deltasProcessError(t *testing.T, im Implementation) {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Add(keyed{"a", 1}))
	item, err := q.Pop(func(any, bool) error { return errBad })
	if say(item) != "Added {a 1}" || err != errBad {
		t.Errorf("Pop of what fails: %v, %v", item, err)
	}
	same(t, "what is left", left(t, q))
}

func deltasEnds(t *testing.T, _ Implementation) {
	d := kc.Deltas{{Type: kc.Added, Object: 1}, {Type: kc.Updated, Object: 2}, {Type: kc.Deleted, Object: 3}}
	equal(t, "oldest", d.Oldest(), &d[0])
	equal(t, "newest", d.Newest(), &d[2])
	if none := (kc.Deltas{}); none.Oldest() != nil || none.Newest() != nil {
		t.Error("no deltas have an oldest or a newest")
	}
}
