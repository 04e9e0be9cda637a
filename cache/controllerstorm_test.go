package cache

import (
	"context"
	"fmt"
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

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// weather is a ListerWatcher over pods that keep changing, whose lists and
// watches fail as they like: it answers from a history, and forgets it now and
// then.
type weather struct {
	mu      sync.Mutex
	r       *rand.Rand             // guarded by mu
	pods    map[string]*corev1.Pod // guarded by mu
	version int                    // guarded by mu
	// history has the events from version forgotten+1 on; guarded by mu.
	history   []watch.Event
	forgotten int
	moved     chan struct{} // closed at the next change; guarded by mu
	calm      bool          // nothing fails any more; guarded by mu
}

func newWeather(seed uint64) *weather {
	return &weather{r: rand.New(rand.NewPCG(seed, 7)), pods: map[string]*corev1.Pod{}, moved: make(chan struct{})}
}

func (s *weather) IsWatchListSemanticsUnSupported() bool { return true }

// change writes something.
func (s *weather) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	name := fmt.Sprint("pod", s.r.IntN(40))
	p := pod(name, strconv.Itoa(s.version))
	kind := watch.Modified
	switch _, there := s.pods[name]; {
	case !there:
		kind = watch.Added
		s.pods[name] = p
	case s.r.IntN(3) == 0:
		kind = watch.Deleted
		delete(s.pods, name)
	default:
		s.pods[name] = p
	}
	s.history = append(s.history, watch.Event{Type: kind, Object: p})
	if s.r.IntN(100) == 0 {
		s.history, s.forgotten = nil, s.version
	}
	close(s.moved)
	s.moved = make(chan struct{})
}

func (s *weather) fails(one int) error {
	if s.calm || s.r.IntN(one) > 0 {
		return nil
	}
	return []error{errBoom, apierrors.NewInternalError(errBoom), apierrors.NewTooManyRequests("", 1),
		apierrors.NewServiceUnavailable("")}[s.r.IntN(4)]
}

func (s *weather) List(metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails(3); err != nil {
		return nil, err
	}
	l := podList(strconv.Itoa(s.version))
	for _, p := range s.pods {
		l.Items = append(l.Items, *p)
	}
	return l, nil
}

func (s *weather) Watch(o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fails(4); err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(o.ResourceVersion)
	if err != nil {
		return nil, err
	}
	lasts := 1 + s.r.IntN(60)
	if s.calm {
		lasts = 1 << 30
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &weatherWatch{events: make(chan watch.Event), stop: cancel}
	go s.send(ctx, w, from, lasts)
	return w, nil
}

// weatherWatch is one watch; stop ends it.
type weatherWatch struct {
	events chan watch.Event
	stop   context.CancelFunc
}

func (w *weatherWatch) Stop()                          { w.stop() }
func (w *weatherWatch) ResultChan() <-chan watch.Event { return w.events }

// send sends what came after from, until ctx ends or so many events were sent.
func (s *weather) send(ctx context.Context, w *weatherWatch, from, lasts int) {
	defer close(w.events)
	defer w.stop()
	for lasts > 0 {
		s.mu.Lock()
		moved, next, gone := s.moved, watch.Event{}, from < s.forgotten
		if !gone && from < s.version {
			next = s.history[from-s.forgotten]
			from++
		}
		s.mu.Unlock()
		if gone {
			next = watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("forgotten").ErrStatus}
			lasts = 1
		}
		if next.Object == nil {
			select {
			case <-moved:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case w.events <- next:
			lasts--
		case <-ctx.Done():
			return
		}
	}
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
	r := rand.New(rand.NewPCG(seed, 8))
	s := newWeather(seed)
	known := NewStore(DeletionHandlingMetaNamespaceKeyFunc)
	c := New(&Config{
		Queue: queue(known), ListerWatcher: s, ObjectType: &corev1.Pod{},
		RetryOnError: true, FullResyncPeriod: 7 * time.Second,
		WatchErrorHandler: func(*Reflector, error) {},
		Process: func(obj any, _ bool) error {
			if r.IntN(10) == 0 {
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
	for range 1500 {
		s.change()
		if s.version%10 == 0 {
			testbubble.Elapse(time.Duration(100+s.version) * time.Millisecond)
		}
	}
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	testbubble.Elapse(15 * time.Minute)
	if got, want := c.LastSyncResourceVersion(), strconv.Itoa(s.version); got != want || !c.HasSynced() {
		t.Errorf("at version %s, the server at %s; synced %v", got, want, c.HasSynced())
	}
	if got, want := states(known.List()), s.states(); !slices.Equal(got, want) {
		t.Errorf("known are\n%v, the server has\n%v", got, want)
	}
	stop()
}

func (s *weather) states() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []any
	for _, p := range s.pods {
		all = append(all, p)
	}
	return states(all)
}

func states(pods []any) []string {
	var list []string
	for _, obj := range pods {
		list = append(list, name(obj))
	}
	slices.Sort(list)
	return list
}
