package kinglet_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// ofAnotherKind returns what a source makes of an object of another kind.
func ofAnotherKind(name string, uid types.UID) source.Item[pod] {
	return source.Item[pod]{Key: key(name), UID: uid, ResourceVersion: "7", Err: &source.ItemError{
		Stage: source.StageDecode, Key: key(name), ResourceVersion: "7",
		Err: &source.KindError{Got: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}}}
}

// TestAnEventOfAnotherKindChangesNothing sends one of each type. It changes neither
// what is held under its key, nor what handlers know, nor the version, nor the watch.
// It is reported. The held object is in quarantine only if it has the same UID.
func TestAnEventOfAnotherKindChangesNothing(t *testing.T) {
	for _, typ := range []source.EventType{source.Added, source.Modified, source.Deleted} {
		for _, tc := range []struct {
			name string
			item source.Item[pod]
			// quarantined is what Quarantined lists afterwards.
			quarantined []string
		}{
			{"of no UID", ofAnotherKind("a", ""), nil},
			{"of another UID", ofAnotherKind("a", "secret"), nil},
			{"of the same UID", ofAnotherKind("a", "uid-a"), []string{"ns/a stale"}},
			{"of a key that is not held", ofAnotherKind("x", "secret"), nil},
			{"of no key", source.Item[pod]{Err: &source.ItemError{Err: &source.KindError{}}}, nil},
		} {
			for _, remove := range []bool{false, true} {
				if tc.quarantined != nil && (remove || typ == source.Deleted) {
					continue // it is removed then
				}
				t.Run(fmt.Sprintf("%v %s, remove %v", typ, tc.name, remove), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newRig(t, kinglet.Options[pod]{RemoveUndecodable: remove}, withUID(newPod("a", "n1"), "uid-a"), newPod("b", "n1"))
						rec := &recorder{}
						r.add(rec, kinglet.HandlerOptions{})
						r.run()
						defer r.end()
						rec.take()
						before := r.informer.Status()
						r.src.Send(source.Event[pod]{Type: typ, Item: tc.item})
						testbubble.Pass(time.Minute) // a relist would have come
						r.equal()
						after := r.informer.Status()
						if after.Degraded || after.ResourceVersion != before.ResourceVersion || after.Failures != 1 || !after.Since.Equal(before.Since) {
							t.Errorf("%+v", after)
						}
						var listed []string
						for _, q := range r.informer.Quarantined() {
							listed = append(listed, q.Key.String()+map[bool]string{true: " stale"}[q.Stale])
						}
						if !slices.Equal(listed, tc.quarantined) {
							t.Errorf("in quarantine: %v, want %v", listed, tc.quarantined)
						}
						errs := r.errors()
						if len(errs) != 1 || !as[*source.KindError](errs[0]) {
							t.Errorf("reported %v", errs)
						}
						// What follows is delivered as if nothing had happened.
						r.must(r.src.Update(withUID(newPod("a", "n2"), "uid-a")))
						synctest.Wait()
						r.must(r.src.Delete(key("a")))
						synctest.Wait()
						r.equal()
						expect(t, rec.take(), "Live Updated a on n2", "Live Deleted a on n2")
						if q := r.informer.Quarantined(); len(q) > 0 {
							t.Errorf("still in quarantine: %v", q)
						}
					})
				})
			}
		}
	}
}

// TestADeleteInAnotherKindDeletesTheObjectWithItsUID sends the object in another form
// than requested. It is gone nevertheless.
func TestADeleteInAnotherKindDeletesTheObjectWithItsUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, withUID(newPod("a", "n1"), "uid-a"), newPod("b", "n1"))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()
		r.src.Send(source.Event[pod]{Type: source.Modified, Item: ofAnotherKind("a", "uid-a")})
		r.src.Send(source.Event[pod]{Type: source.Deleted, Item: ofAnotherKind("a", "uid-a")})
		testbubble.Pass(time.Minute)
		expect(t, rec.take(), "Live Deleted a on n1 (final state unknown)")
		if q := r.informer.Quarantined(); len(q) > 0 || r.informer.Store().Len() != 1 {
			t.Errorf("%d objects; in quarantine: %v", r.informer.Store().Len(), q)
		}
		if errs := r.errors(); len(errs) != 2 || !as[*source.KindError](errs[1]) {
			t.Errorf("reported %v", errs)
		}

		// Handlers know it although the program has removed it by hand.
		r.must(r.src.Update(withUID(newPod("b", "n1"), "uid-b")))
		testbubble.Pass(time.Minute)
		rec.take()
		r.informer.WritableStore().Delete(key("b"))
		r.src.Send(source.Event[pod]{Type: source.Deleted, Item: ofAnotherKind("b", "other")})
		testbubble.Pass(time.Minute)
		expect(t, rec.take())
		r.src.Send(source.Event[pod]{Type: source.Deleted, Item: ofAnotherKind("b", "uid-b")})
		testbubble.Pass(time.Minute)
		expect(t, rec.take(), "Live Deleted b on n1 (final state unknown)")
	})
}

func as[E error](err error) bool {
	_, ok := errtype.As[E](err)
	return ok
}

// TestADeleteIsOfTheObjectWithItsUID shows that the object under the key stays if it is
// known to be another one, created after the deleted one, and goes if the delete is newer
// than it.
func TestADeleteIsOfTheObjectWithItsUID(t *testing.T) {
	for _, tc := range []struct {
		name          string
		before        []source.EventType // of what is held, in the same batch
		held, deleted types.UID
		version       string // of the delete; that of what is held is "2"
		gone          bool
	}{
		{"the same", nil, "1", "1", "9", true},
		{"another", nil, "2", "1", "1", false},
		{"another, and newer", nil, "2", "1", "9", true},
		{"another, and versions are no numbers", nil, "2", "1", "x", false},
		{"no UID in the delete", nil, "1", "", "9", true},
		{"another, and the key was taken in the same batch", []source.EventType{source.Deleted, source.Added}, "2", "1", "9", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, kinglet.Options[pod]{}, withUID(newPod("a", "n1"), tc.held))
				if tc.before != nil {
					r = newRig(t, kinglet.Options[pod]{}, withUID(newPod("a", "n1"), "1"))
				}
				r.run()
				defer r.end()
				var events []source.Event[pod]
				send := func(typ source.EventType, uid types.UID, version string) {
					p := withUID(newPod("a", "n1"), uid)
					p.ResourceVersion = version
					events = append(events, source.Event[pod]{Type: typ, Item: source.Item[pod]{Key: key("a"), UID: uid, ResourceVersion: version, Object: p}})
				}
				for i, typ := range tc.before {
					send(typ, []types.UID{"1", "2"}[i], "9")
				}
				send(source.Deleted, tc.deleted, tc.version)
				r.src.Send(events...)
				synctest.Wait()
				if _, held := r.informer.Store().Get(key("a")); held == tc.gone {
					t.Errorf("is held: %v", held)
				}
			})
		})
	}
}

// TestInitialEventsOfAnotherKindChangeNothing mixes them into a list and a watch-list.
func TestInitialEventsOfAnotherKindChangeNothing(t *testing.T) {
	for _, streams := range []bool{false, true} {
		t.Run(fmt.Sprintf("watch-list %v", streams), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, kinglet.Options[pod]{}, withUID(newPod("a", "n1"), "uid-a"), newPod("b", "n1"))
				mixed := &mixing{Static: r.src, streams: streams}
				inf, err := kinglet.New[pod](mixed, kinglet.Options[pod]{OnError: r.report})
				if err != nil {
					t.Fatal(err)
				}
				r.informer = inf
				r.run()
				defer r.end()
				for range 2 {
					r.equal()
					if q := r.informer.Quarantined(); len(q) > 0 {
						t.Errorf("in quarantine: %v", q)
					}
					if errs := r.errors(); len(errs) == 0 {
						t.Error("nothing was reported")
					}
					r.src.Expire()
					r.src.Disconnect(nil)
					testbubble.Pass(time.Minute)
				}
			})
		})
	}
}

// mixing is a source whose lists and initial events contain, beside each object, some
// of another kind under its key.
type mixing struct {
	*sourcetest.Static[pod]
	streams bool
}

func (m *mixing) Traits() source.Traits { return source.Traits{NoWatchList: !m.streams} }

func (m *mixing) List(ctx context.Context, req source.ListRequest[pod], yield func(source.Page[pod]) error) error {
	return m.Static.List(ctx, req, func(p source.Page[pod]) error {
		var items []source.Item[pod]
		for _, it := range p.Items {
			items = append(items, ofAnotherKind(it.Key.Name, ""), it, ofAnotherKind(it.Key.Name, "secret"))
		}
		p.Items = items
		return yield(p)
	})
}

func (m *mixing) Watch(ctx context.Context, req source.WatchRequest[pod], yield func([]source.Event[pod]) error) error {
	return m.Static.Watch(ctx, req, func(batch []source.Event[pod]) error {
		var events []source.Event[pod]
		for _, e := range batch {
			other := func(typ source.EventType) {
				if req.SendInitialEvents && e.Type == source.Added {
					events = append(events, source.Event[pod]{Type: typ, Item: ofAnotherKind(e.Key.Name, "secret")})
				}
			}
			other(source.Added)
			events = append(events, e)
			other(source.Modified)
			other(source.Deleted)
		}
		return yield(events)
	})
}
