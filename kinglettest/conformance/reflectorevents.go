package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

// A source that is no server, such as a storage in the same process, may end a watch with
// an error of its own. Then it is not known what the watch has missed. A list follows, and
// a ListAndWatch that was called by hand returns, so that its caller knows of the gap.
func protocolNoStatus(t *testing.T, im Implementation) {
	for _, object := range []runtime.Object{nil, (*metav1.Status)(nil), pod("ns", "z"), &metav1.List{}} {
		for _, advanced := range []bool{false, true} {
			o := listOnly(pod("ns", "a"), pod("ns", "lost"))
			s := &sink{}
			r := im.NewReflector(o, &corev1.Pod{}, s, 0)
			done := make(chan error, 1)
			stop := running(t, func(ctx context.Context) { done <- r.ListAndWatchWithContext(ctx) })
			testclock.Elapse(10 * time.Second)
			want := []string{`list from "102"`, `watch from "103"`}
			if advanced {
				o.put(pod("ns", "b"))
				want = []string{`list from "103"`, `watch from "104"`}
			}
			synctest.Wait()
			o.asked()
			s.take()
			o.loseDelete("ns", "lost")
			o.send(watch.Event{Type: watch.Error, Object: object})
			synctest.Wait()
			select {
			case err := <-done:
				must(t, err)
			default:
				t.Errorf("%T: ListAndWatch goes on", object)
			}
			stop()
			running(t, func(ctx context.Context) { _ = r.ListAndWatchWithContext(ctx) })
			testclock.Elapse(10 * time.Second)
			same(t, "requests", inWords(besides("watch-list", o.asked())), want...)
			if advanced {
				s.told(t, "replace [ns/a@101 ns/b@103] at 104")
			} else {
				s.told(t, "replace [ns/a@101] at 103")
			}
		}
	}
}

// Only the annotation marks the end. A server that sends other bookmarks before that is
// slow; it does support watch-lists.
func protocolOtherBookmark(t *testing.T, im Implementation) {
	f := newFakeServer("1")
	f.streams = true
	_, s := reflecting(t, im, f.listerWatcher(im))
	w, _ := f.open()
	bookmark := func(version, mark string) {
		w.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: mark},
		}})
	}
	w.Add(pod("ns", "a", at("2")))
	bookmark("2", "false")
	bookmark("3", "")
	w.Add(pod("ns", "b", at("3")))
	synctest.Wait()
	testclock.Elapse(9 * time.Second)
	s.told(t)
	bookmark("4", "true")
	synctest.Wait()
	s.told(t, "replace [ns/a@2 ns/b@3] at 4")
	if _, watches := f.open(); watches != 1 || w.IsStopped() {
		t.Errorf("%d watches, the first was stopped: %v", watches, w.IsStopped())
	}
}
