package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

func TestPreferNamesWhatIsMissing(t *testing.T) {
	src := NewStatic[*corev1.Pod]()
	for name, err := range map[string]error{
		"no second":             refused(Prefer[*corev1.Pod](src, nil, PreferOptions{})),
		"no first, and why not": refused(Prefer[*corev1.Pod](nil, src, PreferOptions{})),
		"a first, and why not":  refused(Prefer[*corev1.Pod](src, src, PreferOptions{Missing: io.EOF})),
	} {
		if err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	p := must(Prefer[*corev1.Pod](nil, src, PreferOptions{Missing: ErrNoExample}))
	if _, err := list(t, p, ListRequest[*corev1.Pod]{}); err != nil {
		t.Error(err)
	}
	stats := p.Stats()
	if reason, ok := errors.AsType[*FallbackError](stats.Reason); !ok || !errors.Is(reason, ErrNoExample) || reason.Source != src.String() {
		t.Errorf("the reason is %v", stats.Reason)
	}
	if stats.First != 0 || stats.Second != 1 || p.String() != src.String() {
		t.Errorf("%s: %+v", p, stats)
	}
}

// stages are a source's other methods.
type stages struct {
	Source[*corev1.Pod]
	unsupported, disabled bool
	with                  *Sharing
}

func (s *stages) WatchListUnsupported() bool      { return s.unsupported }
func (s *stages) ShareWith(with *Sharing)         { s.with = with }
func (s *stages) SharingPolicy() (*Sharing, bool) { return nil, s.disabled }

func TestAPreferredPassesOnWhatItsSourcesSay(t *testing.T) {
	for i := range 8 {
		first, second := &stages{unsupported: i&1 != 0, disabled: i&4 != 0}, &stages{unsupported: i&2 != 0}
		p := must(Prefer[*corev1.Pod](first, second, PreferOptions{}))
		if p.WatchListUnsupported() != (i&3 != 0) {
			t.Errorf("%v and %v became %v", first.unsupported, second.unsupported, p.WatchListUnsupported())
		}
		if _, disabled := p.SharingPolicy(); disabled != first.disabled {
			t.Errorf("sharing disabled %v became %v", first.disabled, disabled)
		}
		with := NewSharing(0)
		if p.ShareWith(with); first.with != with || second.with != with {
			t.Error("one of them shares with nobody")
		}
	}
}

// unreadables are errors of the first source that make it the last time.
func unreadables() []error {
	return []error{
		&KindError{Want: podGVR.GroupVersion().WithKind("Pod"), Got: schema.GroupVersionKind{Version: "v2", Kind: "Pod"}},
		fmt.Errorf("a page of prose: %w", ErrEncoding),
		fmt.Errorf("a type without: %w", wire.ErrNoFormat),
		apierrors.NewGenericServerResponse(406, "list", schema.GroupResource{}, "", "", 0, true),
		apierrors.NewGenericServerResponse(415, "list", schema.GroupResource{}, "", "", 0, true),
	}
}

// readables are errors that another client would meet as well.
func readables() []error {
	return []error{
		io.ErrUnexpectedEOF,
		&MalformedError{What: "list", Err: io.ErrUnexpectedEOF},
		apierrors.NewForbidden(schema.GroupResource{}, "", nil),
		apierrors.NewInternalError(io.EOF),
		apierrors.NewResourceExpired("too old"),
		&TooLargeError{},
		&KindError{Want: podGVR.GroupVersion().WithKind("Pod"), Got: encoding.StatusKind},
		&KindError{Want: podGVR.GroupVersion().WithKind("Pod")},
	}
}

// unreliable is a source in which things go wrong: calls fail, at any point,
// and objects cannot be read.
type unreliable struct {
	*Static[*corev1.Pod]
	rand  *rand.Rand
	calls int
	// failed is the last error that List or Watch returned, or was about to.
	failed error
}

func (u *unreliable) fault() error {
	switch n := u.rand.Intn(60); {
	case n == 0:
		u.failed = pick(u.rand, unreadables())
	case n < 6:
		u.failed = pick(u.rand, readables())
	default:
		u.failed = nil
	}
	return u.failed
}

func pick[V any](r *rand.Rand, from []V) V { return from[r.Intn(len(from))] }

// broken is an item, or what became of it.
func (u *unreliable) broken(it Item[*corev1.Pod]) Item[*corev1.Pod] {
	if u.rand.Intn(200) > 0 {
		return it
	}
	id := encoding.Identity{Key: it.Key, UID: it.UID, Version: it.ResourceVersion}
	return brokenItem[*corev1.Pod](StageDecode, id, pick(u.rand, unreadables()[:3]))
}

func (u *unreliable) List(ctx context.Context, req ListRequest[*corev1.Pod], yield func(Page[*corev1.Pod]) error) error {
	u.calls++
	return u.Static.List(ctx, req, func(page Page[*corev1.Pod]) error {
		left := page.Items
		for {
			if err := u.fault(); err != nil {
				return err
			}
			n := u.rand.Intn(len(left) + 1)
			part := Page[*corev1.Pod]{ResourceVersion: page.ResourceVersion, More: n < len(left)}
			for _, it := range left[:n] {
				part.Items = append(part.Items, u.broken(it))
			}
			left = left[n:]
			if !part.More {
				part.Continue, part.Remaining = page.Continue, page.Remaining
				return yield(part)
			}
			if err := yield(part); err != nil {
				return err
			}
		}
	})
}

func (u *unreliable) Watch(ctx context.Context, req WatchRequest[*corev1.Pod], yield func([]Event[*corev1.Pod]) error) error {
	u.calls++
	if err := u.fault(); err != nil {
		return err
	}
	return u.Static.Watch(ctx, req, func(events []Event[*corev1.Pod]) error {
		for len(events) > 0 {
			n := 1 + u.rand.Intn(len(events))
			batch := events[:n]
			for i := range batch {
				if batch[i].Type.HasObject() {
					batch[i].Item = u.broken(batch[i].Item)
				}
			}
			if err := yield(batch); err != nil {
				return err
			}
			events = events[n:]
			if err := u.fault(); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestWhoFollowsAPreferredMissesNothingAndGetsNothingTwice whatever the first
// source fails with, and when.
func TestWhoFollowsAPreferredMissesNothingAndGetsNothingTwice(t *testing.T) {
	seed := int64(testseed.Of(t))
	r := rand.New(rand.NewSource(seed))
	fellBack, failed := 0, 0
	synctest.Test(t, func(t *testing.T) {
		for range 300 {
			f := newFollower(t, r)
			f.run()
			if f.p.Stats().Reason != nil {
				fellBack++
			}
			failed += f.fallbacks
		}
	})
	if fellBack < 50 || fellBack > 290 || failed == 0 || failed == fellBack {
		t.Errorf("of 300, %d fell back and %d of these in the middle of a request", fellBack, failed)
	}
}

// follower does what a reflector does, naively.
type follower struct {
	*mirror
	t     *testing.T
	rand  *rand.Rand
	first *unreliable
	state *Static[*corev1.Pod]
	p     *Preferred[*corev1.Pod]
	// fallbacks counts the calls that failed with a FallbackError.
	fallbacks int
}

func newFollower(t *testing.T, r *rand.Rand) *follower {
	state := NewStatic[*corev1.Pod]()
	first := &unreliable{Static: state, rand: r}
	return &follower{t: t, rand: r, first: first, state: state, p: must(Prefer[*corev1.Pod](first, state, PreferOptions{}))}
}

func (f *follower) run() {
	for range 20 {
		f.write()
	}
	for range 15 {
		if f.mirror == nil {
			f.list()
			continue
		}
		for range f.rand.Intn(10) {
			f.write()
		}
		f.watch()
	}
	// In the end nothing goes wrong any more.
	for f.mirror == nil {
		f.list()
	}
	for range 100 {
		if f.watch(); f.version == must(parseRV(f.state.ResourceVersion())) {
			break
		}
	}
	f.equals(f.t, f.state)
}

func (f *follower) write() {
	p := pod("ns", fmt.Sprint("p", f.rand.Intn(12)), "")
	p.UID = ""
	if f.state.Add(p) == nil {
		return
	}
	if f.rand.Intn(2) == 0 {
		_ = f.state.Update(p)
	} else {
		_ = f.state.Delete(nsName(p.Namespace, p.Name))
	}
}

// list begins anew.
func (f *follower) list() {
	m := &mirror{pods: map[store.Key]*corev1.Pod{}}
	req := ListRequest[*corev1.Pod]{Limit: int64(f.rand.Intn(8))}
	for {
		yielded, token := 0, ""
		err := f.call(&yielded, func() error {
			return f.p.List(f.t.Context(), req, func(page Page[*corev1.Pod]) error {
				yielded++
				for _, it := range page.Items {
					f.whole(it)
					if m.pods[it.Key] != nil {
						f.t.Errorf("%s came twice", it.Key)
					}
					m.pods[it.Key] = it.Object
				}
				token, m.version = page.Continue, must(parseRV(page.ResourceVersion))
				return nil
			})
		})
		if err != nil {
			return
		}
		if req.Continue = token; token == "" {
			f.mirror = m
			return
		}
	}
}

func (f *follower) watch() {
	yielded := 0
	_ = f.call(&yielded, func() error {
		return f.p.Watch(f.t.Context(), WatchRequest[*corev1.Pod]{ResourceVersion: rv(f.version), Timeout: time.Second}, func(events []Event[*corev1.Pod]) error {
			yielded++
			for _, e := range events {
				f.whole(e.Item)
				f.apply(f.t, e)
			}
			return nil
		})
	})
}

func (f *follower) whole(it Item[*corev1.Pod]) {
	if it.Err != nil {
		f.t.Errorf("an item that the second source could read came broken: %v", it.Err)
	}
}

// call holds a call against what Prefer promises.
func (f *follower) call(yielded *int, do func() error) error {
	before, calls := f.p.Stats(), f.first.calls
	f.first.failed = nil
	err := do()
	after := f.p.Stats()
	if before.Reason != nil && (f.first.calls != calls || err != nil) {
		f.t.Errorf("after %v it was asked again, or failed: %v", before.Reason, err)
	}
	fb, isFallback := errors.AsType[*FallbackError](err)
	switch {
	case isFallback:
		f.fallbacks++
		if *yielded == 0 || after.Reason != fb {
			f.t.Errorf("%d yielded, reason %v: %v", *yielded, after.Reason, err)
		}
	case err != nil && (err != f.first.failed || after.Reason != nil):
		f.t.Errorf("%v became %v, reason %v", f.first.failed, err, after.Reason)
	}
	if asked := after.First + after.Second - before.First - before.Second; asked != 1 && (before.Reason != nil || after.Reason == nil) {
		f.t.Errorf("%d requests: %+v after %+v", asked, after, before)
	}
	return err
}

func TestAPreferredReturnsYieldsErrorUnchanged(t *testing.T) {
	state := NewStatic(pod("ns", "a", ""))
	for _, refusal := range append(unreadables(), errEnough) {
		p := must(Prefer[*corev1.Pod](state, NewStatic[*corev1.Pod](), PreferOptions{}))
		if err := p.List(t.Context(), ListRequest[*corev1.Pod]{}, func(Page[*corev1.Pod]) error { return refusal }); err != refusal {
			t.Errorf("list: %v became %v", refusal, err)
		}
		err := p.Watch(t.Context(), WatchRequest[*corev1.Pod]{SendInitialEvents: true}, func([]Event[*corev1.Pod]) error { return refusal })
		if err != refusal || p.Stats().Reason != nil {
			t.Errorf("watch: %v became %v, and %v", refusal, err, p.Stats().Reason)
		}
	}
}

func TestWhatTheServerSendsAsAnErrorIsPassedOn(t *testing.T) {
	state := NewStatic[*corev1.Pod]()
	p := must(Prefer[*corev1.Pod](state, NewStatic[*corev1.Pod](), PreferOptions{}))
	bookmark := Event[*corev1.Pod]{Type: Bookmark, Item: Item[*corev1.Pod]{ResourceVersion: "1"}}
	var got []Event[*corev1.Pod]
	err := p.Watch(t.Context(), WatchRequest[*corev1.Pod]{SendInitialEvents: true}, func(events []Event[*corev1.Pod]) error {
		if got = append(got, events...); len(got) > 1 {
			return errEnough
		}
		for _, err := range unreadables() {
			state.Send(Event[*corev1.Pod]{Type: Error, Item: Item[*corev1.Pod]{Err: err}}, bookmark)
		}
		return nil
	})
	if err != errEnough || p.Stats().Reason != nil || len(got) != 1+2*len(unreadables()) || got[1].Type != Error {
		t.Errorf("%+v: %v, %v", got, err, p.Stats().Reason)
	}
}

func TestAPreferredWhoseContextHasEndedSaysSo(t *testing.T) {
	state := NewStatic(pod("ns", "a", ""))
	ctx, cancel := context.WithCancel(t.Context())
	odd := funcSource{Source: state, list: func() error {
		cancel()
		return unreadables()[0]
	}}
	p := must(Prefer[*corev1.Pod](odd, state, PreferOptions{}))
	if err := p.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
		t.Error(err)
	}
	if text := p.Stats().Reason.Error(); !strings.Contains(text, "static") || !strings.Contains(text, "Kind=Pod") {
		t.Errorf("the reason is %s", text)
	}
}

// funcSource is a source with a List of its own.
type funcSource struct {
	Source[*corev1.Pod]
	list func() error
}

func (f funcSource) List(context.Context, ListRequest[*corev1.Pod], func(Page[*corev1.Pod]) error) error {
	return f.list()
}
