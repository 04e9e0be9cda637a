package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// controlled runs a Controller over a script in a bubble, and calls during
// beside it. What Process is given goes to processed.
type controlled struct {
	Controller
	script    *script
	processed *record
	cancel    context.CancelFunc
	done      chan struct{}
}

func said(obj any) string {
	deltas, ok := obj.(Deltas)
	if !ok {
		return name(obj)
	}
	words := make([]string, len(deltas))
	for i, d := range deltas {
		words[i] = string(d.Type)
		switch info := d.Object.(type) {
		case ReplacedAllInfo:
			words[i] += " at " + info.ResourceVersion
		case BookmarkInfo:
			words[i] += " at " + info.ResourceVersion
		case SyncAllInfo:
		default:
			words[i] += " " + name(info)
		}
	}
	return strings.Join(words, "+")
}

// configure is called in the bubble, since channels belong to one.
func controlling(t *testing.T, s *script, configure func() Config, during func(*testing.T, *controlled)) {
	t.Helper()
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		c := &controlled{script: s, processed: &record{}, done: make(chan struct{})}
		config := configure()
		config.ListerWatcher = s
		if config.ObjectType == nil {
			config.ObjectType = &corev1.Pod{}
		}
		if process := config.Process; process == nil {
			config.Process = func(obj any, initial bool) error {
				c.processed.add("%s %v", said(obj), initial)
				return nil
			}
		}
		c.Controller = New(&config)
		var ctx context.Context
		ctx, c.cancel = context.WithCancel(t.Context())
		go func() {
			defer close(c.done)
			c.RunWithContext(ctx)
		}()
		synctest.Wait()
		during(t, c)
		c.cancel()
		<-c.done
	})
}

func TestAControllerDrainsItsQueueThroughProcess(t *testing.T) {
	for what, queue := range map[string]func() Queue{
		"FIFO":      func() Queue { return NewFIFO(MetaNamespaceKeyFunc) },
		"DeltaFIFO": func() Queue { return NewDeltaFIFOWithOptions(DeltaFIFOOptions{EmitDeltaTypeReplaced: true}) },
		"RealFIFO": func() Queue {
			return NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})
		},
		"client-go's": func() Queue { return kc.NewFIFO(MetaNamespaceKeyFunc) },
	} {
		t.Run(what, func(t *testing.T) {
			s := &script{lists: []func() (runtime.Object, error){lists("5", pod("a", "3"))}}
			controlling(t, s, func() Config { return Config{Queue: queue()} }, func(t *testing.T, c *controlled) {
				want(t, "processed", c.processed.heard(), map[string]string{
					"FIFO": "a@3 true", "DeltaFIFO": "Replaced a@3 true", "RealFIFO": "ReplacedAll at 5 true", "client-go's": "a@3 true",
				}[what])
				if !c.HasSynced() || c.LastSyncResourceVersion() != "5" {
					t.Errorf("synced %v, at %q", c.HasSynced(), c.LastSyncResourceVersion())
				}
				select {
				case <-c.HasSyncedChecker().Done():
				default:
					t.Error("the checker has not seen it")
				}
				s.watched().Modify(pod("a", "6"))
				synctest.Wait()
				want(t, "processed", c.processed.heard(), map[string]string{
					"FIFO": "a@6 false", "DeltaFIFO": "Updated a@6 false", "RealFIFO": "Updated a@6 false", "client-go's": "a@6 false",
				}[what])
				want(t, "version", c.LastSyncResourceVersion(), "6")
			})
		})
	}
}

func TestWhatProcessFailedOnComesAgainIfRetryOnErrorIsSet(t *testing.T) {
	for what, queue := range map[string]func() Queue{
		"FIFO":      func() Queue { return NewFIFO(MetaNamespaceKeyFunc) },
		"DeltaFIFO": func() Queue { return NewDeltaFIFO(MetaNamespaceKeyFunc, nil) },
		"RealFIFO":  func() Queue { return NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true}) },
		"foreign":   func() Queue { return foreignQueue{kc.NewFIFO(MetaNamespaceKeyFunc)} },
	} {
		for _, retry := range []bool{true, false} {
			failures := 3
			count := 0
			s := &script{lists: []func() (runtime.Object, error){lists("5", pod("a", "3"))}}
			process := func(any, bool) error {
				count++
				if failures > 0 {
					failures--
					return errBoom
				}
				return nil
			}
			configure := func() Config { return Config{Queue: queue(), RetryOnError: retry, Process: process} }
			controlling(t, s, configure, func(t *testing.T, _ *controlled) {
				if wanted := map[bool]int{true: 4, false: 1}[retry]; count != wanted {
					t.Errorf("%s, retry %v: processed %d times", what, retry, count)
				}
			})
		}
	}
}

// foreignQueue is one that knows no ErrRequeue.
type foreignQueue struct{ Queue }

func (q foreignQueue) AddIfNotPresent(obj any) error { return q.Add(obj) }

func TestBatchesGoToProcessBatchWhereTheQueueHasThem(t *testing.T) {
	batches := &record{}
	var hold chan struct{}
	first := true
	s := &script{lists: []func() (runtime.Object, error){lists("5")}}
	fail := 1
	configure := func() Config {
		hold = make(chan struct{})
		return Config{
			Queue:        NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
			RetryOnError: true,
			ProcessBatch: func(deltas []Delta, initial bool) error {
				batches.add("%s %v", said(Deltas(deltas)), initial)
				fail--
				if fail >= 0 {
					return errBoom
				}
				return nil
			},
			Process: func(obj any, initial bool) error {
				batches.add("alone %s %v", said(obj), initial)
				if first {
					first = false
					<-hold
				}
				return nil
			},
		}
	}
	controlling(t, s, configure, func(t *testing.T, c *controlled) {
		w := s.watched()
		w.Add(pod("a", "6"))
		w.Add(pod("b", "7"))
		w.Modify(pod("a", "8"))
		synctest.Wait()
		close(hold)
		synctest.Wait()
		want(t, "processed", batches.heard(), "alone ReplacedAll at 5 true, Added a@6+Added b@7 false, alone Added a@6 false, Updated a@8+Added b@7 false")
	})
}

func TestWatchErrorHandlersGetTheServersErrorAndAShellThatTellsTheTruth(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errBoom)
	told := &record{}
	for what, config := range map[string]Config{
		"plain": {WatchErrorHandler: func(r *Reflector, err error) {
			told.add("%s %s %q %v %v", r.TypeDescription(), r.Name(), r.LastSyncResourceVersion(), apierrors.IsForbidden(err), err)
		}},
		"with context": {WatchErrorHandlerWithContext: func(ctx context.Context, r *Reflector, err error) {
			told.add("%s %s %q %v %v", r.TypeDescription(), r.Name(), r.LastSyncResourceVersion(), apierrors.IsForbidden(err), err)
			if ctx.Err() != nil {
				t.Error("the context has ended")
			}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			configure := func() Config {
				config.Queue = NewFIFO(MetaNamespaceKeyFunc)
				config.ObjectDescription = "my pods"
				return config
			}
			s := &script{lists: []func() (runtime.Object, error){listFails(forbidden), lists("5"), lists("6"), lists("6"), lists("6"), lists("6")}}
			controlling(t, s, configure, func(t *testing.T, c *controlled) {
				heard := told.heard()
				named := heard[max(0, strings.Index(heard, "testing")):]
				named, _, _ = strings.Cut(named, " ")
				want(t, "told", heard, fmt.Sprintf("my pods %s \"\" true failed to list my pods: %v", named, forbidden))
				testbubble.Elapse(5 * time.Second)
				s.watched().Error(&apierrors.NewResourceExpired("gone").ErrStatus)
				synctest.Wait()
				want(t, "told of a version that has expired", told.heard(), "")
				s.watches = append(s.watches, watchFails(forbidden))
				s.watched().Stop()
				testbubble.Elapse(time.Minute)
				want(t, "told", told.heard(), fmt.Sprintf("my pods %s \"6\" true %v", named, forbidden))
			})
		})
	}
}

func TestAControllerStopsWithItsContextAndClosesItsQueue(t *testing.T) {
	var queue *FIFO
	var entered, release chan struct{}
	s := &script{lists: []func() (runtime.Object, error){lists("5", pod("a", "3"), pod("b", "3"))}}
	configure := func() Config {
		queue, entered, release = NewFIFO(MetaNamespaceKeyFunc), make(chan struct{}), make(chan struct{})
		return Config{Queue: queue, Process: func(any, bool) error {
			close(entered)
			<-release
			return nil
		}}
	}
	controlling(t, s, configure, func(t *testing.T, c *controlled) {
		<-entered
		c.cancel()
		synctest.Wait()
		select {
		case <-c.done:
			t.Error("Run returned while Process was at work")
		default:
		}
		if !queue.IsClosed() {
			t.Error("the queue is open")
		}
		close(release)
		<-c.done
		if got := queue.ListKeys(); len(got) != 1 {
			t.Errorf("left in the queue: %v", got)
		}
	})
}

func TestAControllerWithoutAListerWatcherSaysSoAndStops(t *testing.T) {
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		c := New(&Config{Queue: NewFIFO(MetaNamespaceKeyFunc)})
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(stop)
		}()
		synctest.Wait()
		close(stop)
		<-done
		if c.HasSynced() || c.LastSyncResourceVersion() != "" {
			t.Error("it has synced from nothing")
		}
	})
}

func TestTheDefaultHandlerTakesWhatControllersReport(t *testing.T) {
	reported := silenced(t)
	s := newShell("name", "things", func() string { return "7" })
	s.handle(t.Context(), nil, nil, errBoom)
	s.handle(t.Context(), nil, nil, apierrors.NewResourceExpired("gone"))
	if len(*reported) != 1 || !strings.Contains((*reported)[0], "boom") {
		t.Errorf("reported %q", *reported)
	}
	if r := s.current(); r.LastSyncResourceVersion() != "7" || r.Name() != "name" || r.TypeDescription() != "things" {
		t.Errorf("the shell is %s of %s at %s", r.Name(), r.TypeDescription(), r.LastSyncResourceVersion())
	}
	if err := s.reflector.ListAndWatchWithContext(t.Context()); !errors.Is(err, errShell) {
		t.Errorf("a shell that is run says %v", err)
	}
}
