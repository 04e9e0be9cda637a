package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/source/internal/testread"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

// refused is a constructor's error.
func refused[V any](_ V, err error) error { return err }

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPreferNamesWhatIsMissing(t *testing.T) {
	src := sourcetest.NewStatic[*corev1.Pod]()
	for name, err := range map[string]error{
		"no second":             refused(source.Prefer[*corev1.Pod](src, nil, source.PreferOptions{})),
		"no first, and why not": refused(source.Prefer[*corev1.Pod](nil, src, source.PreferOptions{})),
		"a first, and why not":  refused(source.Prefer[*corev1.Pod](src, src, source.PreferOptions{Missing: io.EOF})),
	} {
		if err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	p := must(source.Prefer[*corev1.Pod](nil, src, source.PreferOptions{Missing: source.ErrNoExample}))
	if _, err := testread.List(t, p, source.ListRequest[*corev1.Pod]{}); err != nil {
		t.Error(err)
	}
	stats := p.Stats()
	if reason, ok := errtype.As[*source.FallbackError](stats.Reason); !ok || !errors.Is(reason, source.ErrNoExample) || reason.Source != src.String() {
		t.Errorf("the reason is %v", stats.Reason)
	}
	if stats.First != 0 || stats.Second != 1 || p.String() != src.String() {
		t.Errorf("%s: %+v", p, stats)
	}
}

// stages are a source's other methods.
type stages struct {
	source.Source[*corev1.Pod]
	unsupported, disabled bool
}

func (s *stages) Traits() source.Traits[*corev1.Pod] {
	return source.Traits[*corev1.Pod]{NoWatchList: s.unsupported, DisableSharing: s.disabled}
}

func TestAPreferredPassesOnWhatItsSourcesSay(t *testing.T) {
	for i := range 8 {
		first, second := &stages{unsupported: i&1 != 0, disabled: i&4 != 0}, &stages{unsupported: i&2 != 0}
		p := must(source.Prefer[*corev1.Pod](first, second, source.PreferOptions{}))
		traits := p.Traits()
		if traits.NoWatchList != (i&3 != 0) {
			t.Errorf("%v and %v became %v", first.unsupported, second.unsupported, traits.NoWatchList)
		}
		if traits.DisableSharing != first.disabled {
			t.Errorf("sharing disabled %v became %v", first.disabled, traits.DisableSharing)
		}
	}
}

var podGVR = corev1.SchemeGroupVersion.WithResource("pods")

// unreadables are errors of the first source that make it the last time.
func unreadables() []error {
	return []error{
		&source.KindError{Want: podGVR.GroupVersion().WithKind("Pod"), Got: schema.GroupVersionKind{Version: "v2", Kind: "Pod"}},
		fmt.Errorf("a page of prose: %w", source.ErrEncoding),
		fmt.Errorf("a type without: %w", formats.ErrNone),
		apierrors.NewGenericServerResponse(406, "list", schema.GroupResource{}, "", "", 0, true),
		apierrors.NewGenericServerResponse(415, "list", schema.GroupResource{}, "", "", 0, true),
	}
}

// readables are errors that another client would meet as well.
func readables() []error {
	return []error{
		io.ErrUnexpectedEOF,
		&source.MalformedError{What: "list", Err: io.ErrUnexpectedEOF},
		apierrors.NewForbidden(schema.GroupResource{}, "", nil),
		apierrors.NewInternalError(io.EOF),
		apierrors.NewResourceExpired("too old"),
		&source.TooLargeError{},
		&source.KindError{Want: podGVR.GroupVersion().WithKind("Pod"), Got: encoding.StatusKind},
		&source.KindError{Want: podGVR.GroupVersion().WithKind("Pod")},
	}
}

// unreliable is a source in which things go wrong: calls fail, at any point,
// and objects cannot be read.
type unreliable struct {
	*sourcetest.Static[*corev1.Pod]
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
func (u *unreliable) broken(it source.Item[*corev1.Pod]) source.Item[*corev1.Pod] {
	if u.rand.Intn(200) > 0 {
		return it
	}
	it.Object, it.Memo = nil, nil
	it.Err = &source.ItemError{
		Stage: source.StageDecode, Key: it.Key, ResourceVersion: it.ResourceVersion, Err: pick(u.rand, unreadables()[:3]),
	}
	return it
}

func (u *unreliable) List(ctx context.Context, req source.ListRequest[*corev1.Pod], yield func(source.Page[*corev1.Pod]) error) error {
	u.calls++
	return u.Static.List(ctx, req, func(page source.Page[*corev1.Pod]) error {
		left := page.Items
		for {
			if err := u.fault(); err != nil {
				return err
			}
			n := u.rand.Intn(len(left) + 1)
			part := source.Page[*corev1.Pod]{ResourceVersion: page.ResourceVersion, More: n < len(left)}
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

func (u *unreliable) Watch(ctx context.Context, req source.WatchRequest[*corev1.Pod], yield func([]source.Event[*corev1.Pod]) error) error {
	u.calls++
	if err := u.fault(); err != nil {
		return err
	}
	return u.Static.Watch(ctx, req, func(events []source.Event[*corev1.Pod]) error {
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
	mirror *testread.Mirror // nil before the first list
	t      *testing.T
	rand   *rand.Rand
	first  *unreliable
	state  *sourcetest.Static[*corev1.Pod]
	p      *source.Preferred[*corev1.Pod]
	// fallbacks counts the calls that failed with a FallbackError.
	fallbacks int
}

func newFollower(t *testing.T, r *rand.Rand) *follower {
	state := sourcetest.NewStatic[*corev1.Pod]()
	first := &unreliable{Static: state, rand: r}
	return &follower{t: t, rand: r, first: first, state: state, p: must(source.Prefer[*corev1.Pod](first, state, source.PreferOptions{}))}
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
		if f.watch(); version(f.mirror) == f.state.ResourceVersion() {
			break
		}
	}
	f.mirror.Equals(f.t, f.state.Objects())
}

func (f *follower) write() {
	p := testpods.New(fmt.Sprint("p", f.rand.Intn(12)), "n1")
	if f.state.Add(p) == nil {
		return
	}
	if f.rand.Intn(2) == 0 {
		_ = f.state.Update(p)
	} else {
		_ = f.state.Delete(store.Key{Namespace: p.Namespace, Name: p.Name})
	}
}

func version(m *testread.Mirror) string { return strconv.FormatInt(m.Version, 10) }

// list begins anew.
func (f *follower) list() {
	m := testread.NewMirror()
	req := source.ListRequest[*corev1.Pod]{Limit: int64(f.rand.Intn(8))}
	for {
		yielded, token := 0, ""
		err := f.call(&yielded, func() error {
			return f.p.List(f.t.Context(), req, func(page source.Page[*corev1.Pod]) error {
				yielded++
				for _, it := range page.Items {
					f.whole(it)
				}
				m.Page(f.t, page)
				token = page.Continue
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
		return f.p.Watch(f.t.Context(), source.WatchRequest[*corev1.Pod]{ResourceVersion: version(f.mirror), Timeout: time.Second}, func(events []source.Event[*corev1.Pod]) error {
			yielded++
			for _, e := range events {
				f.whole(e.Item)
				f.mirror.Event(f.t, e)
			}
			return nil
		})
	})
}

func (f *follower) whole(it source.Item[*corev1.Pod]) {
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
	fb, isFallback := errtype.As[*source.FallbackError](err)
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
	state := sourcetest.NewStatic(testpods.New("a", "n1", "i"))
	for _, refusal := range append(unreadables(), testread.ErrEnough) {
		p := must(source.Prefer[*corev1.Pod](state, sourcetest.NewStatic[*corev1.Pod](), source.PreferOptions{}))
		if err := p.List(t.Context(), source.ListRequest[*corev1.Pod]{}, func(source.Page[*corev1.Pod]) error { return refusal }); err != refusal {
			t.Errorf("list: %v became %v", refusal, err)
		}
		err := p.Watch(t.Context(), source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}, func([]source.Event[*corev1.Pod]) error { return refusal })
		if err != refusal || p.Stats().Reason != nil {
			t.Errorf("watch: %v became %v, and %v", refusal, err, p.Stats().Reason)
		}
	}
}

func TestWhatTheServerSendsAsAnErrorIsPassedOn(t *testing.T) {
	state := sourcetest.NewStatic[*corev1.Pod]()
	p := must(source.Prefer[*corev1.Pod](state, sourcetest.NewStatic[*corev1.Pod](), source.PreferOptions{}))
	bookmark := source.Event[*corev1.Pod]{Type: source.Bookmark, Item: source.Item[*corev1.Pod]{ResourceVersion: "1"}}
	var got []source.Event[*corev1.Pod]
	err := p.Watch(t.Context(), source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}, func(events []source.Event[*corev1.Pod]) error {
		if got = append(got, events...); len(got) > 1 {
			return testread.ErrEnough
		}
		for _, err := range unreadables() {
			state.Send(source.Event[*corev1.Pod]{Type: source.Error, Item: source.Item[*corev1.Pod]{Err: err}}, bookmark)
		}
		return nil
	})
	if err != testread.ErrEnough || p.Stats().Reason != nil || len(got) != 1+2*len(unreadables()) || got[1].Type != source.Error {
		t.Errorf("%+v: %v, %v", got, err, p.Stats().Reason)
	}
}

func TestAPreferredWhoseContextHasEndedSaysSo(t *testing.T) {
	state := sourcetest.NewStatic(testpods.New("a", "n1", "i"))
	ctx, cancel := context.WithCancel(t.Context())
	odd := funcSource{Source: state, list: func() error {
		cancel()
		return unreadables()[0]
	}}
	p := must(source.Prefer[*corev1.Pod](odd, state, source.PreferOptions{}))
	if err := p.List(ctx, source.ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
		t.Error(err)
	}
	if text := p.Stats().Reason.Error(); !strings.Contains(text, "static") || !strings.Contains(text, "Kind=Pod") {
		t.Errorf("the reason is %s", text)
	}
}

// funcSource is a source with a List of its own.
type funcSource struct {
	source.Source[*corev1.Pod]
	list func() error
}

func (f funcSource) List(context.Context, source.ListRequest[*corev1.Pod], func(source.Page[*corev1.Pod]) error) error {
	return f.list()
}
