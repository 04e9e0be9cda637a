package deliver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAHubRefusesHandlersAfterItsEnd(t *testing.T) {
	w := newWorld(t, Options[*object]{})
	running(t, w)()
	if _, err := w.hub.Add(newListener(w, HandlerOptions{}).handle, HandlerOptions{Name: "late"}); !errors.Is(err, ErrStopped) || !strings.Contains(err.Error(), "late") {
		t.Errorf("Add after the end: %v", err)
	}
	w.putAll(3)
	w.hub.Synced()
}

func TestWaitNamesAHandlerThatDoesNotEndAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{Grace: time.Second})
		w.putAll(1)
		w.hub.Synced()
		quick, slow := newListener(w, HandlerOptions{Name: "quick"}), newListener(w, HandlerOptions{Name: "slow"})
		slow.during = func(ctx context.Context, _ changes) { <-ctx.Done(); pause(3 * time.Second) }
		w.add(t, quick)
		w.add(t, slow)
		stop := running(t, w)
		synctest.Wait()
		start := time.Now()
		stop()
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("Wait returned after %v, want 3s", took)
		}
		errs := w.reported()
		if len(errs) != 2 {
			t.Fatalf("reported %v, want two reports", errs)
		}
		for i, err := range errs {
			var stuck *StuckHandlerError
			if !errors.As(err, &stuck) || stuck.Handler != "slow" || stuck.Key != key(0) || stuck.After != time.Duration(i+1)*time.Second {
				t.Errorf("reported %v", err)
			}
		}
	})
}
