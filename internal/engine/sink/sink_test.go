package sink_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/deliver"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/engine/sink"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

type object struct {
	name    string
	uid     types.UID
	version string
}

func keyOf(o *object) (store.Key, error) { return store.Key{Name: o.name}, nil }

// stages are a sink and what stands behind it, without an informer.
type stages struct {
	*sink.Sink[*object]
	store  *store.Store[*object]
	hub    *deliver.Hub[*object]
	own    *own.Writes[*object]
	synced int
	// onReport is called with each error that is reported.
	onReport func(error)
}

func newStages(t *testing.T, change func(*sink.Options[*object])) *stages {
	t.Helper()
	s := &stages{onReport: func(error) {}}
	report := func(err error) { s.onReport(err) }
	var err error
	s.store, err = store.New(store.Options[*object]{
		KeyFunc: keyOf,
		Indexers: map[string]store.IndexFunc[*object]{"version": func(o *object) ([]string, error) {
			if o.version == "unindexed" {
				return nil, errors.New("no value")
			}
			return []string{o.version}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.hub = deliver.NewHub(deliver.Options[*object]{
		KeyFunc:  keyOf,
		Snapshot: func() store.Reader[*object] { return s.store.Snapshot() },
		Begin:    func() (store.Reader[*object], map[store.Key]bool) { return s.store.Begin() },
		Report:   report,
	})
	uid := func(o *object) types.UID { return o.uid }
	s.own = own.New(own.Options[*object]{
		Store: s.store, Report: report, Stopped: deliver.ErrStopped,
		Rules:       own.Rules[*object]{UID: uid, Version: func(o *object) string { return o.version }},
		Unconfirmed: func(u own.Unconfirmed, why error) error { return fmt.Errorf("%s: %w", u.Key, why) },
	})
	s.own.Enter(store.Scope{}, func() bool { return true })
	opts := sink.Options[*object]{
		Epoch: new(atomic.Uint64),
		Store: s.store, Hub: s.hub, Own: s.own, UID: uid, Report: report,
		Synced: func() { s.hub.Synced(); s.synced++ },
		Live:   func() bool { return false }, Several: func() bool { return false },
	}
	if change != nil {
		change(&opts)
	}
	s.Sink = sink.New(opts)
	return s
}

var errBroken = errors.New("broken")

// good and broken are one version of an object, which decodes or does not.
func good(name, uid, version string) source.Item[*object] {
	return source.Item[*object]{
		Key: store.Key{Name: name}, UID: types.UID(uid), ResourceVersion: version, Object: &object{name, types.UID(uid), version},
	}
}

func broken(name, uid, version string) source.Item[*object] {
	key := store.Key{Name: name}
	return source.Item[*object]{
		Key: key, UID: types.UID(uid), ResourceVersion: version,
		Err: &source.ItemError{Stage: source.StageDecode, Key: key, ResourceVersion: version, Err: errBroken},
	}
}

func (s *stages) apply(version string, events ...source.Event[*object]) {
	s.Apply(store.Scope{}, events, version)
}

func (s *stages) list(version string, items ...source.Item[*object]) {
	s.Replace(store.Scope{}, [][]source.Item[*object]{items}, version, false)
}

// held is the version of what the store has under a name, or empty.
func (s *stages) held(name string) string {
	o, _ := s.store.Get(store.Key{Name: name})
	if o == nil {
		return ""
	}
	return o.version
}

func modified(it source.Item[*object]) source.Event[*object] {
	return source.Event[*object]{Type: source.Modified, Item: it}
}

func TestTheLastGoodVersionStaysUnlessItIsToBeRemoved(t *testing.T) {
	for _, remove := range []bool{false, true} {
		t.Run(fmt.Sprint("remove ", remove), func(t *testing.T) {
			s := newStages(t, func(o *sink.Options[*object]) { o.RemoveUndecodable = remove })
			s.list("1", good("a", "u", "1"))
			s.apply("2", modified(broken("a", "u", "2")))
			list := s.Quarantine.List()
			if len(list) != 1 || list[0].Key.Name != "a" || list[0].Stale == remove || !errors.Is(list[0].Err, errBroken) {
				t.Errorf("in quarantine: %+v", list)
			}
			if held := s.held("a"); (held == "") != remove {
				t.Errorf("the store has %q", held)
			}
			s.apply("3", modified(good("a", "u", "3")))
			var st status.Informer
			s.Quarantine.AddTo(&st)
			if keys, versions := st.Quarantined, st.Failures; keys != 0 || versions != 1 || s.held("a") != "3" {
				t.Errorf("after a good version: %d keys, %d versions, the store has %q", keys, versions, s.held("a"))
			}
			if s.synced != 1 {
				t.Errorf("synced %d times", s.synced)
			}
		})
	}
}

// However many keys there are, of which a part is listed.
func TestEachKeyInQuarantineIsCountedOnceAndUntilItIsWell(t *testing.T) {
	for _, n := range []int{10_000, 10_001, 12_000} {
		s := newStages(t, nil)
		count := func(what string, want int) {
			t.Helper()
			var st status.Informer
			s.Quarantine.AddTo(&st)
			if st.Quarantined != want || st.QuarantinedSince.IsZero() != (want == 0) {
				t.Errorf("%d keys, %s: %d in quarantine since %v, want %d", n, what, st.Quarantined, st.QuarantinedSince, want)
			}
		}
		items := make([]source.Item[*object], n)
		events := make([]source.Event[*object], n)
		for i := range n {
			items[i] = broken(strconv.Itoa(i), "u", "1")
			events[i] = modified(broken(strconv.Itoa(i), "u", "2"))
		}
		s.list("1", items...)
		count("listed", n)
		s.apply("2", events...)
		s.apply("3", events...)
		count("changed twice", n)
		for i := range n {
			if events[i].Type = source.Deleted; i%2 == 0 {
				events[i] = modified(good(strconv.Itoa(i), "u", "4"))
			}
		}
		s.apply("4", events...)
		count("deleted or good", 0)
	}
}

// With a UID it is the held object, in a form that cannot be read.
func TestAListThatHasAnObjectOfAnotherKindWithoutAUIDSaysThatTheHeldOneIsGone(t *testing.T) {
	for uid, want := range map[string]string{"": "", "u": "1", "v": ""} {
		s := newStages(t, nil)
		s.list("1", good("a", "u", "1"))
		it := broken("a", uid, "2")
		it.Err = &source.ItemError{Stage: source.StageDecode, Key: it.Key, Err: &source.KindError{}}
		s.list("2", it)
		if held := s.held("a"); held != want {
			t.Errorf("UID %q: the store has %q, want %q", uid, held, want)
		}
	}
}

// How many events a source sends at once changes neither what is held nor what is quarantined.
func TestStoreAndQuarantineAreTheSameHoweverEventsAreBatched(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		remove := rng.IntN(2) == 0
		var events []source.Event[*object]
		for version := range 2 + rng.IntN(6) {
			name, uid := string("ab"[rng.IntN(2)]), string("uv"[rng.IntN(2)])
			e := modified(good(name, uid, strconv.Itoa(10+version)))
			switch rng.IntN(5) {
			case 0:
				e = modified(broken(name, uid, e.ResourceVersion))
			case 1:
				e.Object.name = "other" // it has another key than it came with
			case 2:
				e.Type = source.Deleted
			}
			events = append(events, e)
		}
		outcome := func(size int) (out string) {
			s := newStages(t, func(o *sink.Options[*object]) { o.RemoveUndecodable = remove })
			s.list("1", good("a", "u", "1"))
			for batch := range slices.Chunk(slices.Clone(events), size) {
				s.apply(batch[len(batch)-1].ResourceVersion, batch...)
			}
			for _, q := range s.Quarantine.List() {
				out += fmt.Sprintf("%s %t; ", q.Key, q.Stale)
			}
			return out + fmt.Sprintf("a %q b %q", s.held("a"), s.held("b"))
		}
		one, all := outcome(1), outcome(len(events))
		if one != all {
			for _, e := range events {
				t.Logf("%s %s %s %s %v", e.Type, e.Key, e.UID, e.ResourceVersion, e.Err)
			}
			t.Fatalf("remove %t: one by one %s; at once %s", remove, one, all)
		}
	}
}

// A program's own source may forget the key of an item that it has read.
func TestAnItemWithoutAKeyIsReported(t *testing.T) {
	s := newStages(t, nil)
	reported := 0
	s.onReport = func(error) { reported++ }
	keyless := good("a", "u", "1")
	keyless.Key = store.Key{}
	s.list("1", keyless)
	s.apply("2", modified(keyless))
	if reported != 2 {
		t.Errorf("%d of 2 were reported", reported)
	}
}

func TestErrorsAreReportedInOrderAndUnderNoLock(t *testing.T) {
	s := newStages(t, nil)
	s.list("1", good("a", "u", "1"))
	var reported []string
	s.onReport = func(err error) {
		s.hub.View(func() {}) // does not return if the lock is held
		var item *source.ItemError
		var index *store.IndexError
		switch {
		case errors.As(err, &item):
			reported = append(reported, "item "+item.Key.Name)
		case errors.As(err, &index):
			reported = append(reported, "index "+index.Key.Name)
		}
		if s.held("c") != "unindexed" {
			t.Error("reported before the batch is in the store")
		}
	}
	s.apply("3", modified(good("c", "u", "unindexed")), modified(broken("a", "u", "2")), modified(broken("b", "u", "3")))
	s.list("4", broken("a", "u", "4"), good("c", "u", "unindexed"), good("d", "u", "unindexed"))
	want := []string{"item a", "item b", "index c", "item a", "index c", "index d"}
	if !slices.Equal(reported, want) {
		t.Errorf("reported %q, want %q", reported, want)
	}
}

// Every even version decodes and no odd one does.
func TestStoreVersionAndQuarantineAreOfOneMomentInAView(t *testing.T) {
	s := newStages(t, nil)
	s.list("0", good("a", "u", "0"))
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for views := 0; ; views++ {
			select {
			case <-done:
				return
			default:
			}
			s.hub.View(func() {
				version := s.own.Version("")
				keys, _ := s.Quarantine.Keys()
				var n int
				if _, err := fmt.Sscan(version, &n); err != nil {
					t.Error(err)
				}
				if want := fmt.Sprint(n - n%2); s.held("a") != want || len(keys) != n%2 {
					t.Errorf("at %s the store has %s, and %d are in quarantine", version, s.held("a"), len(keys))
				}
			})
		}
	})
	for n := 1; n < 2000; n++ {
		version := fmt.Sprint(n)
		it := good("a", "u", version)
		if n%2 == 1 {
			it = broken("a", "u", version)
		}
		if n%7 == 0 {
			s.list(version, it)
		} else {
			s.apply(version, modified(it))
		}
	}
	close(done)
	reader.Wait()
}

func TestDecodingAfreshLeavesOutMemosUntilTheNextList(t *testing.T) {
	s := newStages(t, nil)
	a, b := good("a", "u", "1"), good("b", "u", "1")
	a.Memo, b.Memo = "memo", "memo"
	s.list("1", a, b)
	s.DecodeAfresh(map[store.Key]struct{}{a.Key: {}})
	memo := func(key store.Key) store.Memo { _, memo, _ := s.Held(key); return memo }
	if memo(a.Key) != nil || memo(b.Key) != "memo" {
		t.Errorf("before the list: %v and %v", memo(a.Key), memo(b.Key))
	}
	s.list("2", a, b)
	if memo(a.Key) != "memo" || memo(b.Key) != "memo" {
		t.Errorf("after the list: %v and %v", memo(a.Key), memo(b.Key))
	}
}
