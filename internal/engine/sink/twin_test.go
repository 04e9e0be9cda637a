package sink_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/deliver"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// twin is what a sink must show, computed one event at a time.
type twin struct {
	// alive are the server's objects, by name.
	alive map[string]source.Item[*object]
	// held are the versions in the store and uids their UIDs, refused the names in quarantine.
	held    map[string]string
	uids    map[string]types.UID
	refused map[string]bool
}

func (w *twin) put(it source.Item[*object]) {
	name := it.Key.Name
	w.alive[name] = it
	if it.Err != nil {
		w.refused[name] = true
		return
	}
	w.held[name], w.uids[name] = it.ResourceVersion, it.UID
	delete(w.refused, name)
}

func (w *twin) remove(name string) {
	delete(w.alive, name)
	delete(w.held, name)
	delete(w.refused, name)
}

// Batches, lists, objects that do not decode, and objects without an identity, in
// random order: store, quarantine and a handler show what the naive twin does.
func TestSinkEqualsANaiveTwin(t *testing.T) {
	seed := testkit.Seed(t)
	for n := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { againstTwin(t, rand.New(rand.NewPCG(seed, n))) })
	}
}

func againstTwin(t *testing.T, rnd *rand.Rand) {
	s := newStages(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer func() {
		stop()
		s.hub.Wait()
	}()
	s.hub.Start(ctx)
	var opts deliver.HandlerOptions
	if rnd.IntN(2) == 0 {
		opts = deliver.HandlerOptions{EveryVersion: true, Bound: 1000}
	}
	told := map[string]string{}
	if _, err := s.hub.Add(func(_ context.Context, changes []store.Change[*object]) {
		for _, c := range changes {
			_, known := told[c.Key.Name]
			if known == (c.Type == store.Added) {
				t.Errorf("%s of %s, and it is known: %v", c.Type, c.Key, known)
			}
			if c.Type == store.Deleted && (c.Last == nil || c.Last.version != told[c.Key.Name]) {
				t.Errorf("the end of %s after %v, and it was told of %s", c.Key, c.Last, told[c.Key.Name])
			}
			if delete(told, c.Key.Name); c.Type != store.Deleted {
				told[c.Key.Name] = c.New.version
			}
		}
	}, opts); err != nil {
		t.Fatal(err)
	}
	w := &twin{alive: map[string]source.Item[*object]{}, held: map[string]string{}, uids: map[string]types.UID{}, refused: map[string]bool{}}
	version := 0
	item := func(name, uid string) source.Item[*object] {
		version++
		if rnd.IntN(4) == 0 {
			return broken(name, uid, fmt.Sprint(version))
		}
		return good(name, uid, fmt.Sprint(version))
	}
	list := func() {
		version++
		items := slices.Collect(maps.Values(w.alive))
		unidentified := rnd.IntN(4) == 0
		if unidentified {
			items = append(items, source.Item[*object]{Err: &source.ItemError{Err: errBroken}})
		}
		for name := range w.held {
			if _, alive := w.alive[name]; !alive && !unidentified {
				delete(w.held, name)
			}
		}
		clear(w.refused)
		for range rnd.IntN(2) * rnd.IntN(4) {
			// A list that is made of several may name an object twice.
			it := items[rnd.IntN(max(len(items), 1)):]
			if len(it) > 0 && it[0].Key.Name != "" {
				items = slices.Insert(items, rnd.IntN(len(items)+1), item(it[0].Key.Name, string(it[0].UID)))
			}
		}
		readable := map[string]bool{}
		for _, it := range items {
			readable[it.Key.Name] = readable[it.Key.Name] || it.Err == nil
		}
		for _, it := range items {
			// What can be read of an object counts, whatever cannot.
			if name := it.Key.Name; name != "" && (it.Err == nil || !readable[name]) {
				if w.uids[name] != it.UID {
					delete(w.held, name) // another object, whose end was out of sight
				}
				w.put(it)
			}
		}
		s.list(fmt.Sprint(version), items...)
	}
	list()
	for range 200 {
		var events []source.Event[*object]
		for range rnd.IntN(5) {
			name := fmt.Sprint("o", rnd.IntN(6))
			was, alive := w.alive[name]
			ev := source.Event[*object]{Type: source.Modified}
			switch {
			case !alive:
				ev.Type = source.Added
				ev.Item = item(name, fmt.Sprint("u", version))
				w.put(ev.Item)
			case rnd.IntN(3) == 0:
				ev.Type = source.Deleted
				ev.Item = item(name, string(was.UID))
				w.remove(name)
			default:
				ev.Item = item(name, string(was.UID))
				w.put(ev.Item)
			}
			events = append(events, ev)
		}
		s.apply(fmt.Sprint(version), events...)
		switch rnd.IntN(6) {
		case 0:
			// Deletes out of sight, then a list.
			for name := range w.alive {
				if rnd.IntN(3) == 0 {
					delete(w.alive, name)
				}
			}
			list()
		case 1:
			version++
			s.Bookmark(store.Scope{}, fmt.Sprint(version))
		}
		synctest.Wait()
		held, refused := map[string]string{}, map[string]bool{}
		for o := range s.store.All() {
			held[o.name] = o.version
		}
		for _, q := range s.Quarantine.List() {
			refused[q.Key.Name] = true
		}
		if !maps.Equal(held, w.held) || !maps.Equal(refused, w.refused) {
			t.Fatalf("at %d: store %v and quarantine %v, want %v and %v", version, held, refused, w.held, w.refused)
		}
		if !maps.Equal(told, held) {
			t.Fatalf("at %d: the handler knows %v, and the store has %v", version, told, held)
		}
		if s.own.Version("") != fmt.Sprint(version) {
			t.Fatalf("at version %s, want %d", s.own.Version(""), version)
		}
	}
}
