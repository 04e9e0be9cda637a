package deliver

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// panicForReal makes TestAPanicEndsTheProcess the process that ends.
var panicForReal = flag.Bool("panic-for-real", false, "let a handler panic uncontained")

var errBoom = errors.New("boom")

func explode(context.Context, changes) { panic(errBoom) }

func TestAPanicOfAHandlerIsReportedAndTheNextChangeDelivered(t *testing.T) {
	for _, every := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options[*object]{})
			w.putAll(3)
			w.hub.Synced()
			opts := HandlerOptions{Name: "touchy", MaxBatch: 1, RecoverPanics: true, EveryVersion: every}
			if every {
				opts.Bound = 10
			}
			l := newListener(w, opts)
			release := make(chan struct{})
			l.during = func(ctx context.Context, cs changes) {
				if cs[0].Key == key(0) {
					<-release
				}
				if cs[0].Key == key(1) {
					l.inside = false // it will not get there
					explode(ctx, cs)
				}
			}
			r := w.add(t, l)
			stop := running(t, w)
			close(release)
			<-r.Synced()
			release = make(chan struct{})
			w.happen(func() { w.put(key(0), store.Live) })
			synctest.Wait()
			w.happen(func() { w.del(key(1), store.Live, false); w.put(key(1), store.Live) })
			w.happen(func() { w.put(key(2), store.Live) })
			close(release)
			synctest.Wait()
			// A call that panics counts, and so do its changes.
			if s := statusOf(r); s.Panics != 3 || !s.LastPanic.Equal(time.Now()) || s.Calls.Count() != 3+4 || s.Changes != (ReasonCounts{store.Initial: 3, store.Live: 4}) {
				t.Errorf("%+v", s)
			}
			if got, want := r.DeliveredThrough(), version(w); got != want {
				t.Errorf("delivered through %q, want %q", got, want)
			}
			stop()
			l.expectSettled(t)
			errs := w.reported()
			if len(errs) != 3 { // Initial, Deleted, Added
				t.Fatalf("%d reports, want 3: %v", len(errs), errs)
			}
			for _, err := range errs {
				var p *HandlerPanicError
				if !errors.As(err, &p) || p.Handler != "touchy" || p.Key != key(1) || len(p.Keys) != 1 || !errors.Is(p, errBoom) {
					t.Fatalf("reported %v", err)
				}
				if !strings.Contains(string(p.Stack), "deliver.explode") {
					t.Errorf("the stack does not show where the handler panicked:\n%s", p.Stack)
				}
			}
		})
	}
}

func TestAPanicInACallWithSeveralChangesNamesThemAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(5)
		w.hub.Synced()
		calls := 0
		r, err := w.hub.Add(func(ctx context.Context, cs changes) {
			if calls++; calls == 1 {
				explode(ctx, cs)
			}
		}, HandlerOptions{MaxBatch: 3, RecoverPanics: true})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, w)
		<-r.Synced()
		stop()
		var p *HandlerPanicError
		if errs := w.reported(); len(errs) != 1 || !errors.As(errs[0], &p) {
			t.Fatalf("reported %v", errs)
		}
		if want := []store.Key{key(0), key(1), key(2)}; p.Key != key(0) || !slices.Equal(p.Keys, want) || p.Handler != "handler" {
			t.Errorf("the panic of %q names %v and %v, want %v", p.Handler, p.Key, p.Keys, want)
		}
		if calls != 2 {
			t.Errorf("%d calls, want 2", calls)
		}
	})
}

func TestAPanicEndsTheProcessAndNamesHandlerKeyAndPlace(t *testing.T) {
	if *panicForReal {
		w := newWorld(t, Options[*object]{})
		w.putAll(1)
		w.hub.Synced()
		if _, err := w.hub.Add(explode, HandlerOptions{Name: "touchy"}); err != nil {
			t.Fatal(err)
		}
		running(t, w)
		select {}
	}
	out, err := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-panic-for-real").CombinedOutput()
	if err == nil {
		t.Fatalf("the process lives on:\n%s", out)
	}
	for _, want := range []string{`panic: `, `handler "touchy" panicked on ns/0: boom`, "deliver.explode"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing from what the process says:\n%s", want, out)
		}
	}
}

func TestAHandlerThatEndsItsGoroutineIsReportedAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(2)
		w.hub.Synced()
		r, err := w.hub.Add(func(context.Context, changes) { runtime.Goexit() }, HandlerOptions{Name: "quitter"})
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, w)
		<-r.Done()
		stop()
		var exit *HandlerExitError
		if !errors.As(r.Err(), &exit) || exit.Handler != "quitter" || exit.Key != key(0) {
			t.Errorf("Err: %v", r.Err())
		}
		if errs := w.reported(); len(errs) != 1 || errs[0] != r.Err() {
			t.Errorf("reported %v", errs)
		}
		if r.HasSynced() {
			t.Error("synced")
		}
	})
}
