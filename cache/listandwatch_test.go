package cache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
)

// ended is a watch that has sent events and ended.
func ended(events ...watch.Event) func() (watch.Interface, error) {
	return func() (watch.Interface, error) {
		w := watch.NewFakeWithChanSize(len(events), false)
		for _, e := range events {
			w.Action(e.Type, e.Object)
		}
		w.Stop()
		return w, nil
	}
}

// streaming is a ListerWatcher that can be asked for a watch-list.
type streaming struct{ *script }

func (streaming) IsWatchListSemanticsUnSupported() bool { return false }

// endOfInitialEvents is the bookmark of that name.
func endOfInitialEvents(version string) watch.Event {
	p := pod("", version)
	p.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return watch.Event{Type: watch.Bookmark, Object: p}
}

// listAndWatch calls ListAndWatch, and returns what it has asked within a minute,
// whether it was still running then, and its error.
func listAndWatch(t *testing.T, r *Reflector, s *script) (asked string, still bool, err error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- r.ListAndWatchWithContext(ctx) }()
	<-time.After(time.Minute)
	select {
	case err = <-returned:
	default:
		still = true
		cancel()
		err = <-returned
	}
	return s.heard(), still, err
}

// Each error, as the answer to a list, as that to a watch and as its first event, of the
// watch that follows the list and of one that follows another.
func TestListAndWatchReturnsAsClientGosDoesHoweverAWatchFails(t *testing.T) {
	things := schema.GroupResource{Resource: "pods"}
	storeRead := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonStoreReadError, Message: "corrupt",
	}}
	object := watch.Event{Type: watch.Added, Object: pod("b", "6")}
	for _, failure := range []error{
		errBoom,
		apierrors.NewResourceExpired("gone"),
		apierrors.NewGenericServerResponse(410, "watch", things, "", "gone", 0, false),
		storeRead,
		apierrors.NewInternalError(errBoom),
		apierrors.NewServiceUnavailable("later"),
		apierrors.NewForbidden(things, "", errBoom),
		apierrors.NewUnauthorized("who"),
		apierrors.NewNotFound(things, ""),
		apierrors.NewBadRequest("what"),
	} {
		refused := watchFails(failure)
		cases := map[string][]func() (watch.Interface, error){
			"refused":              {refused},
			"refused again":        {ended(object), refused},
			"after initial events": {ended(endOfInitialEvents("5"), object), refused},
		}
		if !apierrors.IsBadRequest(failure) { // kinglet lists without a version then
			cases["list refused"] = nil
		}
		if status, ok := errors.AsType[*apierrors.StatusError](failure); ok {
			sent := watch.Event{Type: watch.Error, Object: &status.ErrStatus}
			cases["its first event"] = []func() (watch.Interface, error){ended(sent)}
			cases["the first event again"] = []func() (watch.Interface, error){ended(object), ended(sent)}
			cases["the first event of more"] = []func() (watch.Interface, error){ended(endOfInitialEvents("5"), object), ended(sent)}
		}
		for what, watches := range cases {
			stream := what == "after initial events" || what == "the first event of more"
			list := lists("5", pod("a", "5"))
			if what == "list refused" {
				list = listFails(failure)
			}
			t.Run(fmt.Sprint(failure, " ", what), func(t *testing.T) {
				silenced(t)
				synctest.Test(t, func(t *testing.T) {
					got := map[string]string{}
					for _, name := range []string{"client-go", "kinglet"} {
						s := &script{lists: []func() (runtime.Object, error){list}, watches: watches}
						var lw ListerWatcher = s
						if stream {
							lw = streaming{s}
						}
						r := NewReflector
						if name == "client-go" {
							r = kc.NewReflector
						}
						asked, still, err := listAndWatch(t, r(lw, &corev1.Pod{}, NewStore(MetaNamespaceKeyFunc), 0), s)
						got[name] = fmt.Sprintf("%v (still running: %v), asked %s", err, still, asked)
					}
					want(t, "ListAndWatch returned", got["kinglet"], got["client-go"])
				})
			})
		}
	}
}

func TestInitialEventsThatEndTooSoonAreAskedForAgainByTheSameListAndWatch(t *testing.T) {
	silenced(t)
	for name, newReflector := range map[string]func(ListerWatcher, any, ReflectorStore, time.Duration) *Reflector{
		"client-go": kc.NewReflector, "kinglet": NewReflector,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				object := watch.Event{Type: watch.Added, Object: pod("a", "4")}
				s := &script{watches: []func() (watch.Interface, error){
					ended(object),
					func() (watch.Interface, error) {
						w := watch.NewFakeWithChanSize(2, false)
						w.Action(object.Type, object.Object)
						w.Action(watch.Bookmark, endOfInitialEvents("5").Object)
						return w, nil
					},
				}}
				store := NewStore(MetaNamespaceKeyFunc)
				asked, still, err := listAndWatch(t, newReflector(streaming{s}, &corev1.Pod{}, store, 0), s)
				if err != nil || !still {
					t.Errorf("returned %v (still running: %v)", err, still)
				}
				want(t, "asked", asked, "watch , watch ")
				want(t, "the store has", fmt.Sprint(store.ListKeys()), "[ns/a]")
			})
		})
	}
}

// Whatever the watches bring that end at once: an hour of them is no storm of
// requests, and a ListAndWatch of empty ones returns.
func TestWatchesThatEndAtOnceAreWaitedBetween(t *testing.T) {
	event := func(typ watch.EventType, version string) watch.Event {
		return watch.Event{Type: typ, Object: pod("a", version)}
	}
	for what, answer := range map[string]func() (watch.Interface, error){
		"nothing":                        ended(),
		"the same object":                ended(event(watch.Added, "6")),
		"versions that go up and down":   ended(event(watch.Modified, "9"), event(watch.Modified, "5")),
		"versions that go down and up":   ended(event(watch.Modified, "4"), event(watch.Modified, "9")),
		"initial events and no more":     ended(event(watch.Added, "6"), endOfInitialEvents("6")),
		"initial events, and then older": ended(event(watch.Added, "6"), endOfInitialEvents("6"), event(watch.Modified, "5")),
		"an object without a version":    ended(event(watch.Modified, "")),
		"versions of no order":           ended(event(watch.Modified, "x"), event(watch.Modified, "y")),
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, watch-list %v", what, stream), func(t *testing.T) {
				silenced(t)
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					const most = 400 // one in ten seconds
					var requests atomic.Int64
					s := &script{}
					for range most {
						s.watches = append(s.watches, func() (watch.Interface, error) {
							if requests.Add(1) == most {
								cancel()
							}
							return answer()
						})
					}
					var lw ListerWatcher = s
					if stream {
						lw = streaming{s}
					}
					store := NewStore(MetaNamespaceKeyFunc)
					if what == "nothing" {
						if asked, still, err := listAndWatch(t, NewReflector(lw, &corev1.Pod{}, store, 0), s); err != nil || still {
							t.Errorf("ListAndWatch returned %v (still running: %v), asked %s", err, still, asked)
						}
					}
					done := make(chan struct{})
					go func() { defer close(done); NewReflector(lw, &corev1.Pod{}, store, 0).RunWithContext(ctx) }()
					<-time.After(time.Hour)
					if n := requests.Load(); n >= most {
						t.Errorf("%d watches", n)
					}
					cancel()
					<-done
				})
			})
		}
	}
}
