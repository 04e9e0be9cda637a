package source_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// halfway is a source that cannot read what comes after some objects, of every
// list or watch.
type halfway struct {
	source.Source[*corev1.Pod]
	after int
	asked int
}

func otherPod() *source.KindError {
	return &source.KindError{Want: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Got: schema.GroupVersionKind{Version: "v2", Kind: "Pod"}}
}

func (h *halfway) List(ctx context.Context, req source.ListRequest[*corev1.Pod], yield func(source.Page[*corev1.Pod]) error) error {
	h.asked++
	return h.Source.List(ctx, req, func(page source.Page[*corev1.Pod]) error {
		if len(page.Items) <= h.after {
			return yield(page)
		}
		part := page
		part.Items, part.More, part.Continue, part.Remaining = page.Items[:h.after], true, "", 0
		if err := yield(part); err != nil {
			return err
		}
		return otherPod()
	})
}

func (h *halfway) Watch(ctx context.Context, req source.WatchRequest[*corev1.Pod], yield func([]source.Event[*corev1.Pod]) error) error {
	h.asked++
	left := h.after
	return h.Source.Watch(ctx, req, func(events []source.Event[*corev1.Pod]) error {
		if len(events) <= left {
			left -= len(events)
			return yield(events)
		}
		if left > 0 {
			if err := yield(events[:left]); err != nil {
				return err
			}
		}
		broken := events[left]
		broken.Item.Err, broken.Object = &source.ItemError{Stage: source.StageDecode, Key: broken.Key, Err: otherPod()}, nil
		return yield([]source.Event[*corev1.Pod]{broken})
	})
}

// TestAnInformerGoesOnWhereItsFirstSourceEnded, in a watch-list's initial
// events, in a list or in a watch, and tells each handler what happened once.
func TestAnInformerGoesOnWhereItsFirstSourceEnded(t *testing.T) {
	for _, paged := range []bool{false, true} {
		for after := range 12 {
			synctest.Test(t, func(t *testing.T) { followHalfway(t, after, paged) })
		}
	}
}

func followHalfway(t *testing.T, after int, paged bool) {
	state := sourcetest.NewStatic[*corev1.Pod]()
	for i := range 6 {
		if err := state.Add(testpods.New(fmt.Sprint("p", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	first := &halfway{Source: state, after: after}
	src, err := source.Prefer[*corev1.Pod](first, state, source.PreferOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{DisableWatchList: paged, OnError: func(err error) {
		if _, ok := errtype.As[*source.FallbackError](err); !ok {
			t.Errorf("after %d, paged %v: %v", after, paged, err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	_, err = inf.AddHandler(kinglet.HandlerFuncs[*corev1.Pod]{
		OnAdd:    func(_ context.Context, p *corev1.Pod, _ bool) { told["add "+p.Name]++ },
		OnUpdate: func(_ context.Context, _, p *corev1.Pod) { told["update "+p.Name]++ },
	}, kinglet.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- inf.Run(ctx) }()
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		synctest.Wait()
		if err := state.Update(testpods.New(fmt.Sprint("p", i), "")); err != nil {
			t.Fatal(err)
		}
	}
	// Long enough for any backoff.
	testclock.Pass(2 * time.Minute)
	asked := first.asked
	state.Disconnect(nil)
	testclock.Pass(2 * time.Minute)
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	for i := range 6 {
		for _, what := range []string{"add", "update"} {
			if n := told[fmt.Sprintf("%s p%d", what, i)]; n != 1 {
				t.Errorf("after %d, paged %v: p%d has %d of %s", after, paged, i, n, what)
			}
		}
	}
	fellBack := src.Stats().Reason != nil
	if fellBack && first.asked != asked || !fellBack && after < 6 {
		t.Errorf("after %d, paged %v: the first source was asked %d and then %d times, %+v", after, paged, asked, first.asked, src.Stats())
	}
}
