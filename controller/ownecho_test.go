package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// lagging is a source whose watch is behind.
type lagging struct{ source.Source[pod] }

func (l lagging) Watch(ctx context.Context, req source.WatchRequest[pod], yield func([]source.Event[pod]) error) error {
	return l.Source.Watch(ctx, req, func(events []source.Event[pod]) error {
		testbubble.Pass(100 * time.Millisecond)
		return yield(events)
	})
}

// TestAChangeOfNothingButOwnWritesIsSkippedIfAskedFor has a reconciler that writes each
// time it runs, and so runs forever unless its own writes are skipped.
func TestAChangeOfNothingButOwnWritesIsSkippedIfAskedFor(t *testing.T) {
	for _, skip := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			src := sourcetest.NewStatic(newPod("a"))
			inf, err := kinglet.New[pod](lagging{src}, kinglet.Options[pod]{})
			if err != nil {
				t.Fatal(err)
			}
			r := &runs{began: time.Now()}
			c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
				r.note(k)
				held, ok := inf.Store().Get(k)
				if !ok {
					t.Errorf("%v is not there", k)
				}
				testbubble.Pass(time.Second)
				written := held.DeepCopy()
				written.Labels = map[string]string{"run": time.Now().String()}
				if err := src.Update(written); err != nil {
					t.Error(err)
				}
				for _, now := range src.Objects() { // the server's answer
					if err := inf.Wrote(now); err != nil && !errors.Is(err, kinglet.ErrStopped) {
						t.Error(err)
					}
				}
				return controller.Result{}, nil
			}, controller.Options[kinglet.Key]{})
			mustWatch(t, c, inf, controller.WatchOptions[pod]{SkipOwn: skip})
			stop := start(t, c, inf)
			testbubble.Pass(time.Minute)
			if n := len(r.list()); skip && n > 2 || !skip && n < 30 {
				t.Errorf("skip %v: %d runs", skip, n)
			}
			stop()
		})
	}
}
