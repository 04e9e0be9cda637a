package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
)

// Guarantees 4 to 6 and 10: what handlers receive, and when.

func TestGuarantee4HandlersSeeALegalHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		first := &recorder{}
		r.add(first, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		late := &recorder{}
		r.add(late, kinglet.HandlerOptions{})
		synctest.Wait()
		r.must(r.src.Delete(key("a")))
		synctest.Wait()
		expect(t, first.take(), "Initial Added a on n1", "Live Updated a on n2", "Live Deleted a on n2")
		expect(t, late.take(), "Initial Added a on n2", "Live Deleted a on n2")
	})
}

func TestGuarantee4RecreationOutOfSightIsDeleteThenAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()
		// Both happen while nobody watches, and the history is gone.
		r.src.FailWatches(-1, errors.New("connection refused"))
		r.src.Disconnect(errors.New("connection reset"))
		r.must(r.src.Delete(key("a")))
		r.must(r.src.Add(withUID(newPod("a", "n2"), "another")))
		r.must(r.src.Delete(key("b")))
		r.src.Expire()
		r.src.FailWatches(0, nil)
		testbubble.Pass(time.Minute)
		lines := rec.take()
		slices.SortStableFunc(lines, func(x, y string) int { return strings.Compare(word(x, 2), word(y, 2)) })
		expect(t, lines,
			"Relist Deleted a on n1 (final state unknown)", "Relist Added a on n2",
			"Relist Deleted b on n1 (final state unknown)")
		r.equal()
	})
}

// A handler that keeps objects by a label, and is behind: what happened meanwhile folds.
func TestGuarantee4WhatAHandlerKeepsByALabelItFindsWhenTheObjectIsGone(t *testing.T) {
	for name, again := range map[string]bool{"deleted": false, "deleted and added": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				on := func(node, version string) source.Item[pod] {
					p := newPod("a", node)
					p.Labels, p.ResourceVersion = map[string]string{"node": node}, version
					return source.ItemOf(p)
				}
				r := newRig(t, kinglet.Options[pod]{})
				kept := map[string]bool{}
				at := func(p pod) string { return p.Labels["node"] + "/" + p.Name }
				r.add(kinglet.HandlerFuncs[pod]{
					OnAdd: func(_ context.Context, p pod, _ bool) { kept[at(p)] = true },
					OnUpdate: func(_ context.Context, old, p pod) {
						delete(kept, at(old))
						kept[at(p)] = true
					},
					OnDelete: func(_ context.Context, d kinglet.DeletedObject[pod]) { delete(kept, at(d.Last)) },
				}, kinglet.HandlerOptions{})
				r.run()
				defer r.end()
				r.src.Send(source.Event[pod]{Type: source.Added, Item: on("n1", "1000")})
				synctest.Wait()
				events := []source.Event[pod]{
					{Type: source.Modified, Item: on("n2", "1001")},
					{Type: source.Deleted, Item: on("n3", "1002")},
					{Type: source.Added, Item: on("n4", "1003")},
				}
				want := "map[n4/a:true]"
				if !again {
					events, want = events[:2], "map[]"
				}
				r.src.Send(events...)
				synctest.Wait()
				if got := fmt.Sprint(kept); got != want {
					t.Errorf("the handler has %s, want %s", got, want)
				}
			})
		})
	}
}

// Found by kinglettest/torture.
func TestGuarantee4TheDeleteOfAnUndecodableObjectDeletesItsPredecessor(t *testing.T) {
	for name, together := range map[string]bool{"in one batch": true, "in two": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
				rec := &recorder{}
				r.add(rec, kinglet.HandlerOptions{})
				r.run()
				defer r.end()
				// Another object of the same name is broken, and then gone.
				gone := withUID(newPod("a", "n2"), "another")
				gone.ResourceVersion = "1001"
				events := []source.Event[pod]{
					{Type: source.Added, Item: source.Item[pod]{
						Key: key("a"), UID: "another", ResourceVersion: "1000",
						Err: &source.ItemError{Stage: source.StageDecode, Key: key("a"), Err: errors.New("broken")},
					}},
					{Type: source.Deleted, Item: source.Item[pod]{Key: key("a"), UID: "another", ResourceVersion: "1001", Object: gone}},
				}
				if together {
					r.src.Send(events...)
				} else {
					r.src.Send(events[0])
					synctest.Wait()
					r.src.Send(events[1])
				}
				synctest.Wait()
				expect(t, rec.take(), "Initial Added a on n1", "Live Deleted a on n1 (final state unknown)")
			})
		})
	}
}

func word(s string, i int) string { return strings.Fields(s)[i] }

func TestGuarantee4ARelistWithoutChangesCallsNoHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()
		held, _ := r.informer.Store().Get(key("a"))
		r.src.Disconnect(nil)
		r.src.FailWatches(1, apierrors.NewResourceExpired("too old resource version"))
		testbubble.Pass(time.Minute)
		expect(t, rec.take())
		if again, _ := r.informer.Store().Get(key("a")); again != held {
			t.Error("an object that did not change was replaced by a copy")
		}
	})
}

func TestGuarantee5AStalledHandlerHoldsOneRecordAKeyAndDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n0"), newPod("b", "n0"))
		stalled, quick := &recorder{gate: make(chan struct{})}, &recorder{}
		reg := r.add(stalled, kinglet.HandlerOptions{MaxBatch: 1})
		r.add(quick, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		for range 2 {
			stalled.gate <- struct{}{} // the initial list
		}
		synctest.Wait()
		stalled.take()
		for i := range 1000 {
			r.must(r.src.Update(newPod([]string{"a", "b"}[i%2], "n1")))
			if i%10 == 0 {
				synctest.Wait()
			}
		}
		r.must(r.src.Delete(key("b")))
		synctest.Wait()
		if n := reg.Pending(); n > 2 {
			t.Errorf("%d records pending for 2 keys", n)
		}
		if lines := quick.take(); !slices.Contains(lines, "Live Deleted b on n1") {
			t.Errorf("the other handler has not heard of the delete: %q", lines[max(0, len(lines)-5):])
		}
		close(stalled.gate)
		synctest.Wait()
		lines := stalled.take()
		if len(lines) > 3 || lines[len(lines)-1] != "Live Updated a on n1" && lines[len(lines)-1] != "Live Deleted b on n1" {
			t.Errorf("the stalled handler was told %q", lines)
		}
		if !slices.Contains(lines, "Live Deleted b on n1") {
			t.Errorf("the delete of a delivered key was lost: %q", lines)
		}
	})
}

func TestGuarantee6SyncedOnlyAfterTheHandlerReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		slow := &recorder{gate: make(chan struct{})}
		reg := r.add(slow, kinglet.HandlerOptions{Name: "slow"})
		r.run()
		defer r.end()
		if !r.informer.HasSynced() || reg.HasSynced() {
			t.Errorf("informer synced: %v, handler synced: %v; want true, false", r.informer.HasSynced(), reg.HasSynced())
		}
		slow.gate <- struct{}{}
		if err := reg.WaitSynced(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestGuarantee6AWaitThatFailsNamesTheInformerAndTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{Name: "pods of team-a"})
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no RBAC policy matched"))
		r.src.FailWatches(-1, forbidden)
		r.src.FailLists(-1, forbidden)
		r.run()
		defer r.end()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		err := r.informer.WaitSynced(ctx)
		var failed *kinglet.NotSyncedError
		if !errors.As(err, &failed) || failed.Name != "pods of team-a" || !apierrors.IsForbidden(failed.LastError) {
			t.Errorf("got %v", err)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) {
			t.Errorf("the causes are not found in %v", err)
		}
	})
}

func TestGuarantee10TheStoreIsNeverBehindTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}}, newPod("a", "n1"))
		calls := 0
		r.add(&recorder{look: func(c kinglet.Change[pod]) {
			calls++
			held, ok := r.informer.Store().Get(c.Key)
			if c.Type != kinglet.Deleted && (!ok || held.ResourceVersion < c.New.ResourceVersion) {
				t.Errorf("told of %s before the store had it", line(c))
			}
		}}, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		for _, node := range []string{"n2", "n3", "n4"} {
			r.must(r.src.Update(newPod("a", node)))
			synctest.Wait()
		}
		if calls != 4 {
			t.Errorf("%d changes, want 4", calls)
		}
	})
}
