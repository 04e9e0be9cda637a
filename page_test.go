package kinglet_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// fixed is an observed informer with a given status.
type fixed struct {
	mu sync.Mutex
	st kinglet.Status // guarded by mu
}

func (f *fixed) Status() kinglet.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.st
}

func (f *fixed) change(do func(*kinglet.Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(&f.st)
}

// refusal is a reason as an API server gives it.
type refusal string

func (r refusal) Error() string { return string(r) }

var errRefused = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", refusal(`User "ann" cannot list resource "pods" in API group "" at the cluster scope`))

func TestCheckFailsAfterTheGraceAndBeyondTheBoundAndNamesInformerAndCause(t *testing.T) {
	t.Run("a set that runs", func(t *testing.T) { testCheck(t, true) })
	t.Run("a set that only observes", func(t *testing.T) { testCheck(t, false) })
}

func testCheck(t *testing.T, runs bool) {
	synctest.Test(t, func(t *testing.T) {
		pods := &fixed{st: kinglet.Status{Name: "pods"}}
		set := kinglet.NewSet()
		defer set.Observe(pods)()
		if err := set.Configure(kinglet.SetOptions{StartupGrace: time.Minute, MaxStale: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		if runs {
			go func() { ended <- set.Run(ctx) }()
		} else {
			ended <- nil
		}
		pods.change(func(s *kinglet.Status) {
			s.Phase, s.Since, s.LastError, s.FailingSince = reflector.BackingOff, time.Now(), errRefused, time.Now()
		})
		want := func(check func(*http.Request) error, parts ...string) {
			t.Helper()
			err := check(nil)
			if len(parts) == 0 {
				if err != nil {
					t.Errorf("fails: %v", err)
				}
				return
			}
			h, ok := errtype.As[*kinglet.HealthError](err)
			if !ok || len(h.Informers) != 1 || h.Informers[0].Name != "pods" || h.Informers[0].Cause != status.CauseForbidden || !apierrors.IsForbidden(err) {
				t.Fatalf("got %#v", err)
			}
			for _, p := range parts {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("%q is not in: %v", p, err)
				}
			}
		}
		testbubble.Elapse(time.Minute)
		want(set.Check)
		want(set.Ready, "1 of 1 informers: pods: not synced: forbidden (403)", "grant list and watch on pods to ann")
		testbubble.Elapse(time.Second)
		want(set.Check, "pods: not synced 1m1s after the start: forbidden (403)")
		pods.change(func(s *kinglet.Status) { s.Synced = true })
		testbubble.Elapse(8*time.Minute + 59*time.Second)
		want(set.Check)
		want(set.Ready)
		testbubble.Elapse(time.Second)
		want(set.Check, "reads have been stale for 10m1s: forbidden (403)")
		want(set.Ready)
		pods.change(func(s *kinglet.Status) { s.Phase, s.LastError, s.FailingSince = reflector.Watching, nil, time.Time{} })
		want(set.Check)
		// An informer that is added later has the same grace from then.
		late := &fixed{st: kinglet.Status{Name: "late", Status: reflector.Status{Phase: reflector.Listing}}}
		defer set.Observe(late)()
		testbubble.Elapse(time.Minute)
		want(set.Check)
		testbubble.Elapse(time.Second)
		if err := set.Check(nil); err == nil || !strings.Contains(err.Error(), "late: not synced 1m1s") {
			t.Errorf("got %v", err)
		}
		if !runs {
			late.change(func(s *kinglet.Status) { s.Phase = reflector.Starting })
			want(set.Check)
			// It begins an hour after it was observed, such as with a Lease.
			testbubble.Elapse(time.Hour)
			late.change(func(s *kinglet.Status) { s.Phase, s.Since = reflector.Listing, time.Now() })
			want(set.Check)
			testbubble.Elapse(time.Minute)
			late.change(func(s *kinglet.Status) {
				s.FailingSince, s.Phase, s.Since = s.Since, reflector.BackingOff, time.Now()
			})
			want(set.Check)
			testbubble.Elapse(time.Second)
			if err := set.Check(nil); err == nil || !strings.Contains(err.Error(), "late: not synced 1m1s") {
				t.Errorf("got %v", err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheHealthErrorOfManyInformersIsBounded(t *testing.T) {
	set := kinglet.NewSet()
	for k := range 100 {
		set.Observe(&fixed{st: kinglet.Status{Name: fmt.Sprintf("kind%d", k)}})
	}
	err := set.Ready(nil)
	if err == nil || !strings.HasPrefix(err.Error(), "100 of 100 informers: kind0: not synced") || !strings.HasSuffix(err.Error(), "and 95 more") || len(err.Error()) > 2000 {
		t.Error(err)
	}
	if err := set.Configure(kinglet.SetOptions{StartupGrace: -1, MaxStale: -1}); err == nil || !strings.Contains(err.Error(), "StartupGrace") || !strings.Contains(err.Error(), "MaxStale") {
		t.Error(err)
	}
}
