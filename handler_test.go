package kinglet_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/kinglet-go/kinglet"
)

// embedsFuncs and embedsPointer have the methods of a HandlerFuncs. wraps has
// them in a field, and declares its own limit.
type (
	embedsFuncs   struct{ kinglet.HandlerFuncs[pod] }
	embedsPointer struct{ *kinglet.HandlerFuncs[pod] }
	wraps         struct {
		handler kinglet.Handler[pod]
		limit   int
	}
)

func (w wraps) Handle(ctx context.Context, changes []kinglet.Change[pod]) {
	w.handler.Handle(ctx, changes)
}

func (w wraps) MaxBatch() int { return w.limit }

func TestNoChangeFollowsARemoveForAnyFormOfHandlerFuncs(t *testing.T) {
	forms := map[string]func(kinglet.HandlerFuncs[pod]) kinglet.Handler[pod]{
		"a value":             func(h kinglet.HandlerFuncs[pod]) kinglet.Handler[pod] { return h },
		"a pointer":           func(h kinglet.HandlerFuncs[pod]) kinglet.Handler[pod] { return &h },
		"embedded":            func(h kinglet.HandlerFuncs[pod]) kinglet.Handler[pod] { return embedsFuncs{h} },
		"embedded by pointer": func(h kinglet.HandlerFuncs[pod]) kinglet.Handler[pod] { return embedsPointer{&h} },
		"a pointer to a type that embeds it": func(h kinglet.HandlerFuncs[pod]) kinglet.Handler[pod] {
			return &embedsPointer{&h}
		},
		"a wrapper that says its limit": func(h kinglet.HandlerFuncs[pod]) kinglet.Handler[pod] {
			return wraps{handler: &h, limit: 1}
		},
	}
	for form, make := range forms {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, kinglet.Options[pod]{}, manyPods(5)...)
				var reg kinglet.Registration
				calls := 0
				reg = r.add(make(kinglet.HandlerFuncs[pod]{OnAdd: func(context.Context, pod, bool) {
					calls++
					reg.Remove()
				}}), kinglet.HandlerOptions{})
				r.run()
				defer r.end()
				if calls != 1 {
					t.Errorf("%d calls, although the first of them removed the handler", calls)
				}
			})
		})
	}
}

func TestAHandlersOwnLimitCountsUnlessTheOptionsHaveOne(t *testing.T) {
	for _, c := range []struct {
		handler func(kinglet.Handler[pod]) kinglet.Handler[pod]
		option  int
		want    int
	}{
		{func(h kinglet.Handler[pod]) kinglet.Handler[pod] { return h }, 0, 5},
		{func(h kinglet.Handler[pod]) kinglet.Handler[pod] { return h }, 2, 2},
		{func(h kinglet.Handler[pod]) kinglet.Handler[pod] { return wraps{h, 3} }, 0, 3},
		{func(h kinglet.Handler[pod]) kinglet.Handler[pod] { return wraps{h, 3} }, 4, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, kinglet.Options[pod]{}, manyPods(5)...)
			largest := 0
			r.add(c.handler(kinglet.HandlerFunc[pod](func(_ context.Context, changes []kinglet.Change[pod]) {
				largest = max(largest, len(changes))
			})), kinglet.HandlerOptions{MaxBatch: c.option})
			r.run()
			defer r.end()
			if largest != c.want {
				t.Errorf("%T with the option %d was given %d changes at once, want %d", c.handler, c.option, largest, c.want)
			}
		})
	}
}

func manyPods(n int) []pod {
	var pods []pod
	for i := range n {
		pods = append(pods, newPod(fmt.Sprint("p", i), "n1"))
	}
	return pods
}
