package cache

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kctesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// weather is client-go's fake of a server, whose lists and watches fail as they like
// until it is calm.
type weather struct {
	*kctesting.FakeControllerSource
	mu   sync.Mutex
	r    *rand.Rand // guarded by mu
	calm bool       // guarded by mu
}

func (s *weather) IsWatchListSemanticsUnSupported() bool { return true }

func (s *weather) fails(one int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calm || s.r.IntN(one) > 0 {
		return nil
	}
	return []error{errBoom, apierrors.NewInternalError(errBoom), apierrors.NewTooManyRequests("", 1),
		apierrors.NewServiceUnavailable("")}[s.r.IntN(4)]
}

func (s *weather) List(o metav1.ListOptions) (runtime.Object, error) {
	if err := s.fails(3); err != nil {
		return nil, err
	}
	return s.FakeControllerSource.List(o)
}

func (s *weather) Watch(o metav1.ListOptions) (watch.Interface, error) {
	if err := s.fails(4); err != nil {
		return nil, err
	}
	w, err := s.FakeControllerSource.Watch(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && !s.calm {
		time.AfterFunc(time.Duration(s.r.IntN(5000))*time.Millisecond, w.Stop)
	}
	return w, err
}

// forget ends watches with an error, and has the server know nothing of the past.
func (s *weather) forget() {
	_ = s.Broadcaster.Action(watch.Error, &apierrors.NewResourceExpired("forgotten").ErrStatus)
	s.ResetWatch()
}

// TestAControllerInAStormEndsEqualAndLeavesNothingBehind: whatever fails, what
// Process was told makes the server's state, and Run leaves no goroutine.
func TestAControllerInAStormEndsEqualAndLeavesNothingBehind(t *testing.T) {
	for what, queue := range map[string]func(known Store) Queue{
		"DeltaFIFO": func(known Store) Queue {
			return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
		},
		"RealFIFO": func(known Store) Queue {
			return NewRealFIFOWithOptions(RealFIFOOptions{KnownObjects: known})
		},
	} {
		for run := range 8 {
			t.Run(fmt.Sprint(what, run), func(t *testing.T) {
				seed := testkit.Seed(t)
				silenced(t)
				synctest.Test(t, func(t *testing.T) { storm(t, seed, queue) })
			})
		}
	}
}

func storm(t *testing.T, seed uint64, queue func(known Store) Queue) {
	failing := rand.New(rand.NewPCG(seed, 8))
	s := &weather{FakeControllerSource: kctesting.NewFakeControllerSource(), r: rand.New(rand.NewPCG(seed, 7))}
	known := NewStore(DeletionHandlingMetaNamespaceKeyFunc)
	c := New(&Config{
		Queue: queue(known), ListerWatcher: s, ObjectType: &corev1.Pod{},
		RetryOnError: true, FullResyncPeriod: 7 * time.Second,
		WatchErrorHandler: func(*Reflector, error) {},
		Process: func(obj any, _ bool) error {
			if failing.IntN(10) == 0 {
				return errBoom
			}
			for _, d := range obj.(Deltas) {
				var err error
				if d.Type == Deleted {
					err = known.Delete(d.Object)
				} else {
					err = known.Update(d.Object)
				}
				if err != nil {
					t.Error(err)
				}
			}
			return nil
		},
	})
	stop := start(c.RunWithContext)
	const changes = 1500
	there, r := map[string]bool{}, rand.New(rand.NewPCG(seed, 9))
	for i := range changes {
		p := pod(fmt.Sprint("pod", r.IntN(40)), "")
		switch {
		case !there[p.Name]:
			there[p.Name] = true
			s.Add(p)
		case r.IntN(3) == 0:
			there[p.Name] = false
			s.Delete(p)
		default:
			s.Modify(p)
		}
		if r.IntN(100) == 0 {
			s.forget()
		}
		if i%10 == 0 {
			testbubble.Elapse(time.Duration(100+i) * time.Millisecond)
		}
	}
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	testbubble.Elapse(15 * time.Minute)
	if got, want := c.LastSyncResourceVersion(), strconv.Itoa(changes); got != want || !c.HasSynced() {
		t.Errorf("at version %s, the server at %s; synced %v", got, want, c.HasSynced())
	}
	if got, want := states(slices.Values(known.List())), states(maps.Values(s.Items)); !slices.Equal(got, want) {
		t.Errorf("known are\n%v, the server has\n%v", got, want)
	}
	stop()
	s.Broadcaster.Shutdown()
}

func states[T any](pods iter.Seq[T]) (list []string) {
	for obj := range pods {
		list = append(list, name(obj))
	}
	slices.Sort(list)
	return list
}
