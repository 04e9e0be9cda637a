package controller_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
)

// TestTheGateStaysShutWhenAnInputEndsThatTheProgramDidNotRemove stops one informer
// before it has synced, stops another later, and has a function of the program end the
// goroutine of its handler.
func TestTheGateStaysShutWhenAnInputEndsThatTheProgramDidNotRemove(t *testing.T) {
	for _, test := range []struct {
		name         string
		sync, exit   bool
		runs         int
		wantInReason string
	}{
		{"before it has synced", false, false, 0, "stopped"},
		{"later", true, false, 1, "stopped"},
		{"while another replica leads", true, false, 0, "stopped"},
		{"by a function that ends its goroutine", true, true, 0, "goroutine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, inf := informerOf(t, newPod("a"))
				if !test.sync {
					src.FailLists(-1, errors.New("unreachable"))
					src.FailWatches(-1, errors.New("unreachable"))
				}
				r := &runs{}
				var o controller.Options[kinglet.Key]
				if strings.Contains(test.name, "leads") {
					o.Elector = &candidate{leader: newLeader(), leads: make(chan struct{})}
				}
				c := newController(t, r.reconcile, o)
				if !test.sync { // another that is waited for does not hide it
					_, idle := informerOf(t)
					mustWatch(t, c, idle)
				}
				mustWatch(t, c, inf, controller.WatchOptions[pod]{If: func(controller.Change[pod]) bool {
					if test.exit {
						runtime.Goexit()
					}
					return true
				}})
				stop := start(t, c)
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- inf.Run(ctx) }()
				testbubble.Pass(10 * time.Second)
				if o.Elector != nil { // it is broken from when the informer stops
					testbubble.Pass(3 * time.Hour)
				}
				if !test.exit {
					cancel()
					<-ended
				}
				testbubble.Pass(10 * time.Second)
				_ = c.Add(key("b"))
				testbubble.Pass(10 * time.Second)
				if got := r.list(); len(got) != test.runs {
					t.Errorf("ran %v", got)
				}
				s := c.Status()
				if gate := s.GateReason; !strings.Contains(gate, "pods") || !strings.Contains(gate, test.wantInReason) {
					t.Errorf("the gate says %q", gate)
				}
				if p := s.Problems(time.Now()); len(p) != 1 || p[0].Severity != status.Broken || p[0].Cause != status.CauseGateEnded || time.Since(p[0].Since) > time.Minute {
					t.Errorf("problems: %+v", p)
				}
				cancel()
				stop()
			})
		})
	}
}

func TestTheGateOpensWhenTheProgramRemovesAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t, newPod("a"))
		r := &runs{}
		c := newController(t, r.reconcile, controller.Options[kinglet.Key]{})
		registration, err := controller.Watch(c, inf, controller.Self)
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, c)
		_ = c.Add(key("b"))
		testbubble.Pass(10 * time.Second)
		if got := r.list(); len(got) != 0 {
			t.Errorf("ran %v", got)
		}
		registration.Remove()
		testbubble.Pass(time.Second)
		if got := r.list(); len(got) != 1 {
			t.Errorf("ran %v", got)
		}
		stop()
	})
}

func TestAFunctionThatReturnsNoSequenceMapsToNoKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t, newPod("a"))
		r := &runs{}
		c := newController(t, r.reconcile, controller.Options[kinglet.Key]{OnError: r.report})
		if _, err := controller.Watch(c, inf, func(controller.Change[pod]) iter.Seq[kinglet.Key] { return nil }); err != nil {
			t.Fatal(err)
		}
		stop := start(t, c, inf)
		synctest.Wait()
		if got, errs := r.list(), r.errors(); len(got) != 0 || len(errs) != 0 {
			t.Errorf("ran %v, reported %v", got, errs)
		}
		stop()
	})
}

// A replica that cannot lead says why in its status, its report and its problems, and Run
// returns why leadership was lost.
func TestWhyAReplicaDoesNotLeadOrLosesLeadershipIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forbidden := error(apierrors.NewForbidden(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "l", errors.New("no")))
		l := &candidate{leader: newLeader(), leads: make(chan struct{})}
		c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) {
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{Elector: l})
		ended := make(chan error, 1)
		go func() { ended <- c.Run(context.Background()) }()
		problem := func(severity status.Severity, texts ...string) {
			t.Helper()
			testbubble.Pass(time.Second)
			s := c.Status()
			problems := s.Problems(time.Now())
			if len(problems) != 1 || problems[0].Severity != severity || problems[0].Cause != status.CauseGateClosed {
				t.Fatalf("problems: %+v, want one of severity %v", problems, severity)
			}
			for _, text := range texts {
				if !strings.Contains(s.GateReason, text) || !strings.Contains(problems[0].What, text) {
					t.Errorf("%q is not in the gate's reason %q, or not in %+v", text, s.GateReason, problems[0])
				}
			}
		}
		problem(status.Note, "this replica does not lead")
		l.err.Store(&forbidden)
		problem(status.Broken, "this replica does not lead", "leases.coordination.k8s.io", "forbidden")
		if do := c.Status(); !strings.Contains(do.Problems(time.Now())[0].Do, "grant") {
			t.Errorf("%+v", do.Problems(time.Now()))
		}
		unreachable := error(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
		l.err.Store(&unreachable)
		problem(status.Warning, "connection refused")
		testbubble.Pass(time.Minute)
		problem(status.Broken, "connection refused")
		l.err.Store(nil)
		close(l.leads)
		testbubble.Pass(time.Second)
		if s := c.Status(); !s.GateOpen || len(s.Problems(time.Now())) > 0 {
			t.Errorf("it leads: %+v", s)
		}
		l.err.Store(&unreachable)
		close(l.lost)
		if err := <-ended; !errors.Is(err, controller.ErrLeadershipLost) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("lost leadership: %v", err)
		}
	})
}

// candidate leads when leads is closed.
type candidate struct {
	*leader
	leads chan struct{}
}

func (c *candidate) Acquire(ctx context.Context) (controller.Leadership, error) {
	select {
	case <-c.leads:
		return c.leader, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestInformersThatNobodyRunsAreNamedOnce has two informers, of which one is run later.
func TestInformersThatNobodyRunsAreNamedOnce(t *testing.T) {
	for _, run := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log := &testkit.Log{}
			before := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
			t.Cleanup(func() { slog.SetDefault(before) })
			_, pods := informerOf(t, newPod("a"))
			c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) {
				return controller.Result{}, nil
			}, controller.Options[kinglet.Key]{Name: "site"})
			mustWatch(t, c, pods)
			var informers []kinglet.Runnable
			if run {
				informers = append(informers, pods)
			}
			stop := start(t, c, informers...)
			if run { // it runs without a source as well
				if err := pods.SetSources(); err != nil {
					t.Fatal(err)
				}
			}
			testbubble.Pass(time.Hour)
			logged := log.Take()
			lines := strings.Count(logged, "\n")
			if !run && (lines != 1 || !strings.Contains(logged, "nobody runs") || !strings.Contains(logged, "informers=pods") || !strings.Contains(logged, "controller=site")) || run && lines > 0 {
				t.Errorf("run %v, logged:\n%s", run, logged)
			}
			stop()
		})
	}
}

// garbled answers with what nobody can decode.
type garbled struct{}

func (garbled) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("password=hunter2"))}, nil
}

func TestAGateThatWaitsForSecretsShowsNothingOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, err := source.FromConfig[*corev1.Secret](&rest.Config{Host: "http://server", Transport: garbled{}}, corev1.SchemeGroupVersion.WithResource("secrets"), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inf, err := kinglet.New(src, kinglet.Options[*corev1.Secret]{OnError: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) { return controller.Result{}, nil }, controller.Options[kinglet.Key]{})
		if _, err := controller.Watch(c, inf, controller.Self); err != nil {
			t.Fatal(err)
		}
		defer start(t, c, inf)()
		testbubble.Pass(10 * time.Second)
		if s := c.Status(); !strings.Contains(s.GateReason, "has not synced: ") || strings.Contains(s.GateReason, "hunter2") {
			t.Errorf("the gate says %q", s.GateReason)
		}
	})
}
