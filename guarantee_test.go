package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// The tests of this file and of guaranteehandlers_test.go are named after the
// guarantees in the package's docs. Those that belong to one stage alone are
// tested there as well, at length.

func TestGuarantee1StoreEqualsServerWhateverFailedInBetween(t *testing.T) {
	for _, failure := range []struct {
		name  string
		cause func(*sourcetest.Static[pod])
	}{
		{"watch ended in good order", func(s *sourcetest.Static[pod]) { s.Disconnect(nil) }},
		{"connection reset", func(s *sourcetest.Static[pod]) { s.Disconnect(errors.New("connection reset by peer")) }},
		{"version expired", func(s *sourcetest.Static[pod]) {
			s.Disconnect(nil)
			s.FailWatches(1, apierrors.NewResourceExpired("too old resource version"))
		}},
		{"list fails too", func(s *sourcetest.Static[pod]) {
			s.Disconnect(nil)
			s.FailWatches(1, apierrors.NewResourceExpired("too old resource version"))
			s.RefuseWatchList(apierrors.NewBadRequest("sendInitialEvents is forbidden"))
			s.FailLists(3, apierrors.NewInternalError(errors.New("etcd is away")))
		}},
		{"too many requests", func(s *sourcetest.Static[pod]) {
			s.Disconnect(nil)
			s.FailWatches(2, apierrors.NewTooManyRequests("slow down", 7))
		}},
	} {
		t.Run(failure.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"))
				r.run()
				defer r.end()
				failure.cause(r.src)
				r.must(r.src.Add(newPod("c", "n2")))
				r.must(r.src.Update(newPod("a", "n2")))
				r.must(r.src.Delete(key("b")))
				testbubble.Pass(5 * time.Minute)
				r.equal()
			})
		})
	}
}

func TestGuarantee2VersionsNeverGoBackwardsAcrossLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &lagging{Static: sourcetest.NewStatic(newPod("a", "n1"))}
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		src.Static = r.src
		inf, err := kinglet.New[pod](src, kinglet.Options[pod]{})
		if err != nil {
			t.Fatal(err)
		}
		r.informer = inf
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		before := r.informer.Status().ResourceVersion
		// Two lists come from a server that is behind the previous one.
		src.late.Store(2)
		r.src.Disconnect(apierrors.NewResourceExpired("too old"))
		for range 100 {
			testbubble.Pass(50 * time.Millisecond)
			if got := r.informer.Store().ResourceVersion(""); got != before {
				t.Fatalf("resource version went from %s to %s", before, got)
			}
		}
		if src.late.Load() != 0 || r.informer.Status().Phase != reflector.Watching {
			t.Errorf("%d late lists to go; %+v", src.late.Load(), r.informer.Status())
		}
		r.equal()
		expect(t, rec.take(), "Initial Added a on n1", "Live Updated a on n2")
	})
}

// lagging is a source whose next lists show an earlier state, whatever they request.
type lagging struct {
	*sourcetest.Static[pod]
	late atomic.Int64
}

func (l *lagging) Traits() source.Traits { return source.Traits{NoWatchList: true} }

func (l *lagging) List(ctx context.Context, req source.ListRequest[pod], yield func(source.Page[pod]) error) error {
	if l.late.Load() == 0 {
		return l.Static.List(ctx, req, yield)
	}
	l.late.Add(-1)
	return yield(source.Page[pod]{ResourceVersion: "1"})
}

func TestGuarantee2WithinAWatchTheOrderOfArrivalCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		send := func(typ source.EventType, name, node, version string) {
			p := newPod(name, node)
			p.ResourceVersion = version
			r.src.Send(source.Event[pod]{Type: typ, Item: source.Item[pod]{Key: key(name), ResourceVersion: version, Object: p}})
			synctest.Wait()
			if got := r.informer.Status().ResourceVersion; got != version {
				t.Errorf("resource version %s, want %s", got, version)
			}
		}
		send(source.Modified, "a", "n3", "1")
		send(source.Added, "b", "n1", "1")
		send(source.Deleted, "a", "n4", "1")
		expect(t, rec.take(), "Initial Added a on n1", "Live Updated a on n2", "Live Updated a on n3",
			"Live Added b on n1", "Live Deleted a on n4")
		if errs := r.errors(); len(errs) != 1 || !errors.Is(errs[0], reflector.ErrOutOfOrder) {
			t.Errorf("reported %v", errs)
		}
		if s := r.informer.Status(); s.Phase != reflector.Watching || s.Watches != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestGuarantee3SnapshotsStayWhileTheStoreGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}}, newPod("a", "n1"))
		r.run()
		defer r.end()
		snap := r.informer.Snapshot()
		r.must(r.src.Update(newPod("a", "n2")))
		r.must(r.src.Add(newPod("b", "n2")))
		synctest.Wait()
		onNode := func(reader kinglet.Reader[pod], node string) (found []string) {
			seq, err := reader.ByIndex("node", node)
			r.must(err)
			for p := range seq {
				found = append(found, p.Name)
			}
			slices.Sort(found)
			return found
		}
		expect(t, onNode(snap, "n1"), "a")
		expect(t, onNode(snap, "n2"))
		expect(t, onNode(r.informer.Store(), "n1"))
		expect(t, onNode(r.informer.Store(), "n2"), "a", "b")
		if snap.Len() != 1 || snap.ResourceVersion("") == r.informer.Snapshot().ResourceVersion("") {
			t.Error("the snapshot moved")
		}
	})
}

func TestGuarantee7AnUndecodableObjectIsReportedAndTheLastGoodVersionStays(t *testing.T) {
	bad := errors.New("cannot parse quantity")
	broken := func(version string) source.Event[pod] {
		return source.Event[pod]{Type: source.Modified, Item: source.Item[pod]{
			Key: key("a"), UID: "static-1", ResourceVersion: version,
			Err: &source.ItemError{Stage: source.StageDecode, Key: key("a"), ResourceVersion: version, Err: bad},
		}}
	}
	t.Run("kept", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
			rec := &recorder{}
			r.add(rec, kinglet.HandlerOptions{})
			r.run()
			defer r.end()
			r.src.Send(broken("1000"))
			synctest.Wait()
			r.equal()
			list := r.informer.Quarantined()
			if len(list) != 1 || list[0].Key != key("a") || !list[0].Stale || !errors.Is(list[0].Err, bad) {
				t.Errorf("quarantined: %+v", list)
			}
			if st := r.informer.Status(); st.Quarantined != 1 || st.Failures != 1 {
				t.Errorf("status: %+v", st)
			}
			if errs := r.errors(); len(errs) != 1 || !errors.Is(errs[0], bad) {
				t.Errorf("reported: %v", errs)
			}
			// The stream goes on, and a good version heals.
			healed := newPod("a", "n2")
			healed.UID, healed.ResourceVersion = "static-1", "1001"
			r.src.Send(source.Event[pod]{Type: source.Modified, Item: source.Item[pod]{
				Key: key("a"), UID: "static-1", ResourceVersion: "1001", Object: healed}})
			synctest.Wait()
			if len(r.informer.Quarantined()) != 0 {
				t.Error("still quarantined after a good version")
			}
			expect(t, rec.take(), "Initial Added a on n1", "Live Updated a on n2")
		})
	})
	t.Run("removed if asked for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, kinglet.Options[pod]{RemoveUndecodable: true}, newPod("a", "n1"))
			rec := &recorder{}
			r.add(rec, kinglet.HandlerOptions{})
			r.run()
			defer r.end()
			r.src.Send(broken("1000"))
			synctest.Wait()
			expect(t, rec.take(), "Initial Added a on n1", "Live Deleted a on n1 (final state unknown)")
		})
	})
}

func TestGuarantee7AtWhateverStageAVersionFailsTheLastGoodOneStays(t *testing.T) {
	for _, stage := range []struct {
		name string
		// read and key are given the versions that fail.
		read func(pod) (pod, error)
		key  func(pod) (kinglet.Key, error)
	}{
		{name: "a map fails", read: func(pod) (pod, error) { return nil, errors.New("cannot") }},
		{name: "a map panics", read: func(pod) (pod, error) { panic("cannot") }},
		{name: "a map forgets the name", read: func(p pod) (pod, error) { return &corev1.Pod{Spec: p.Spec}, nil }},
		{name: "a map gives another name", read: func(p pod) (pod, error) { return newPod("b", p.Spec.NodeName), nil }},
		{name: "the key function fails", key: func(pod) (kinglet.Key, error) { return kinglet.Key{}, errors.New("cannot") }},
		{name: "the key function panics", key: func(pod) (kinglet.Key, error) { panic("cannot") }},
		{name: "the key function gives another key", key: func(pod) (kinglet.Key, error) { return key("b"), nil }},
	} {
		t.Run(stage.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fails := func(p pod) bool { return p.Spec.NodeName == "broken" }
				opts := kinglet.Options[pod]{KeyFunc: func(p pod) (kinglet.Key, error) {
					if stage.key != nil && fails(p) {
						return stage.key(p)
					}
					return source.ObjectKey(p)
				}}
				static := sourcetest.NewStatic(newPod("a", "n1"), newPod("b", "n1"), newPod("c", "broken"))
				r := newRigOn(t, opts, source.Map[pod](static, func(p pod) (pod, error) {
					if stage.read != nil && fails(p) {
						return stage.read(p)
					}
					return p, nil
				}))
				rec := &recorder{}
				r.add(rec, kinglet.HandlerOptions{})
				r.run()
				defer r.end()
				quarantined := func(keys ...string) {
					t.Helper()
					var got []string
					for _, q := range r.informer.Quarantined() {
						got = append(got, fmt.Sprintf("%s %t", q.Key.Name, q.Stale))
					}
					if !slices.Equal(got, keys) || r.informer.Status().Quarantined != len(keys) || r.informer.Status().Failures == 0 {
						t.Errorf("quarantined: %q, want %q; %d failures", got, keys, r.informer.Status().Failures)
					}
				}
				relist := func(node string) {
					static.FailWatches(-1, errors.New("not now"))
					static.Disconnect(nil)
					synctest.Wait() // no watch begins before the version is gone
					r.must(static.Update(newPod("b", node)))
					static.Expire()
					static.FailWatches(0, nil)
					testbubble.Pass(10 * time.Minute)
				}
				expect(t, rec.take(), "Initial Added a on n1", "Initial Added b on n1")
				quarantined("c false")
				r.must(static.Update(newPod("a", "broken")))
				synctest.Wait()
				quarantined("a true", "c false")
				relist("n2")
				quarantined("a true", "c false")
				expect(t, rec.take(), "Relist Updated b on n2")
				if report, err := r.informer.CheckConsistency(t.Context()); err != nil || report.Differences != 0 {
					t.Errorf("a check found %+v, %v", report, err)
				}
				r.must(static.Update(newPod("a", "n2")))
				synctest.Wait()
				quarantined("c false")
				r.must(static.Update(newPod("a", "broken")))
				relist("n3")
				r.must(static.Delete(key("a")))
				synctest.Wait()
				quarantined("c false")
				expect(t, rec.take(), "Live Updated a on n2", "Relist Updated b on n3", "Live Deleted a on n2 (final state unknown)")
			})
		})
	}
}

func TestGuarantee7AnIndexFunctionThatFailsKeepsTheObjectOutOfThatIndexOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		picky := func(p pod) ([]string, error) {
			if p.Spec.NodeName == "" {
				return nil, errors.New("no node yet")
			}
			return []string{p.Spec.NodeName}, nil
		}
		r := newRig(t, kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": picky}},
			newPod("a", "n1"), newPod("b", ""))
		r.run()
		defer r.end()
		r.equal()
		var failed *kinglet.IndexError
		if errs := r.errors(); len(errs) != 1 || !errors.As(errs[0], &failed) || failed.Key != key("b") || failed.Index != "node" {
			t.Errorf("reported: %v", errs)
		}
		if n, err := r.informer.Store().IndexCount("node", "n1"); n != 1 || err != nil {
			t.Errorf("IndexCount = %d, %v", n, err)
		}
	})
}

func TestGuarantee7AnObjectWithoutIdentityDegradesUntilARelistAndDeletesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()
		r.src.Send(source.Event[pod]{Type: source.Modified, Item: source.Item[pod]{
			Err: &source.ItemError{Stage: source.StageKey, Err: errors.New("the object has no name")}}})
		synctest.Wait()
		if !r.informer.Status().Degraded {
			t.Error("not degraded")
		}
		testbubble.Pass(10 * time.Minute)
		if r.informer.Status().Degraded {
			t.Error("still degraded after a relist")
		}
		expect(t, rec.take())
		r.equal()
	})
}

func TestGuarantee9RunReturnsAfterHandlersHaveAndNamesThoseThatDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{StopGrace: time.Second}, newPod("a", "n1"))
		release := make(chan struct{})
		r.add(kinglet.HandlerFunc[pod](func(context.Context, []kinglet.Change[pod]) { <-release }),
			kinglet.HandlerOptions{Name: "deaf"})
		r.run()
		r.stop()
		testbubble.Pass(1500 * time.Millisecond)
		var stuck *kinglet.StuckHandlerError
		if errs := r.errors(); len(errs) != 1 || !errors.As(errs[0], &stuck) || stuck.Handler != "deaf" {
			t.Errorf("reported: %v", errs)
		}
		select {
		case <-r.ended:
			t.Error("Run returned while a handler was running")
		default:
		}
		close(release)
		r.end()
	})
}

func TestGuarantee11WhatTheServerRefusesIsNotWhatItDeleted(t *testing.T) {
	for _, refusal := range []error{
		apierrors.NewUnauthorized("token expired"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("role was removed")),
		apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, ""),
	} {
		t.Run(string(apierrors.ReasonForError(refusal)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
				rec := &recorder{}
				r.add(rec, kinglet.HandlerOptions{})
				r.run()
				defer r.end()
				rec.take()
				r.src.FailWatches(-1, refusal)
				r.src.FailLists(-1, refusal)
				r.src.Disconnect(nil)
				r.must(r.src.Delete(key("a")))
				r.must(r.src.Add(withUID(newPod("a", "n2"), "another")))
				testbubble.Pass(10 * time.Minute)
				expect(t, rec.take())
				st := r.informer.Status()
				if st.Objects != 1 || !st.Synced || apierrors.ReasonForError(st.LastError) != apierrors.ReasonForError(refusal) {
					t.Errorf("status: %+v", st)
				}
				r.src.FailWatches(0, nil)
				r.src.FailLists(0, nil)
				testbubble.Pass(2 * time.Minute)
				r.equal()
				lines := rec.take()
				if len(lines) != 2 || !strings.Contains(lines[0], "Deleted a") || !strings.Contains(lines[1], "Added a on n2") {
					t.Errorf("was told %q", lines)
				}
			})
		})
	}
}
