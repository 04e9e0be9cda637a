package source

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// opens calls Watch and returns, in order, when the watch was open and when events came,
// each as the time since the call.
func opens(src Source[*corev1.Pod], events int) (said []string, err error) {
	began := time.Now()
	say := func(what string) { said = append(said, fmt.Sprint(what, " ", time.Since(began))) }
	err = src.Watch(context.Background(), WatchRequest[*corev1.Pod]{OnOpen: func() { say("open") }}, func(batch []Event[*corev1.Pod]) error {
		say("events")
		if events -= len(batch); events <= 0 {
			return errEnough
		}
		return nil
	})
	return said, err
}

func TestAWatchIsOpenOnceItsListerWatcherReturnsIt(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		fails error
		want  []string
	}{
		"at once":                  {want: []string{"open 0s", "events 0s"}},
		"a little later":           {takes: 50 * time.Millisecond, want: []string{"open 50ms", "events 50ms"}},
		"so late that none waits":  {takes: 2 * time.Second, want: []string{"open 1s", "events 2s"}},
		"not":                      {fails: apierrors.NewForbidden(podGVR.GroupResource(), "", nil)},
		"not, a little later":      {takes: 50 * time.Millisecond, fails: apierrors.NewInternalError(errEnough)},
		"not, after none waits":    {takes: 2 * time.Second, fails: apierrors.NewInternalError(errEnough), want: []string{"open 1s"}},
		"not even with an error":   {takes: 2 * time.Second, fails: errNothing, want: []string{"open 1s"}},
		"not, and at once nothing": {fails: errNothing},
	} {
		open := func() (watch.Interface, error) {
			testbubble.Pass(c.takes)
			switch c.fails {
			case nil:
			case errNothing:
				return (*watch.FakeWatcher)(nil), nil
			default:
				return nil, c.fails
			}
			w := watch.NewFakeWithChanSize(1, false)
			w.Add(pod("ns", "a", "1"))
			return w, nil
		}
		withContext := &cache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return open() }}
		for kind, made := range map[string]func() Source[*corev1.Pod]{
			"closures": func() Source[*corev1.Pod] {
				return must(FromListerWatcher[*corev1.Pod](closures{watch: func(metav1.ListOptions) (watch.Interface, error) { return open() }}, Options{}))
			},
			"with a context": func() Source[*corev1.Pod] { return must(FromListerWatcher[*corev1.Pod](withContext, Options{})) },
			"with an interceptor": func() Source[*corev1.Pod] {
				src, _ := intercepted(withContext)
				return src
			},
			"behind wrappers": func() Source[*corev1.Pod] {
				lw := must(FromListerWatcher[*corev1.Pod](withContext, Options{}))
				return Map(lw, slim)
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				src := made()
				if !src.Traits().ReportsOpen {
					t.Errorf("%s: does not report when a watch is open", kind)
				}
				said, err := opens(src, 1)
				if !slices.Equal(said, c.want) {
					t.Errorf("%s, %s: %q, want %q", kind, name, said, c.want)
				}
				if want := c.fails; want == nil && err != errEnough || want != nil && err == nil {
					t.Errorf("%s, %s: %v", kind, name, err)
				}
			})
		}
	}
}

// A real server need not have sent anything for a watch to be open.
func TestAnInterceptedWatchIsOpenOnceTheServerAnswers(t *testing.T) {
	open, end := make(chan struct{}), make(chan struct{})
	cfg := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", codecs()[0].contentType)
		w.(http.Flusher).Flush()
		<-open
		w.Write(codecs()[0].frame("ADDED", pod("ns", "a", "1")))
		w.(http.Flusher).Flush()
		<-end
	})
	cfg.ContentType = runtime.ContentTypeProtobuf
	src, interceptor := intercepted(podClosures(wrapped(cfg)))
	opened := 0
	err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{OnOpen: func() { opened++; close(open) }}, func([]Event[*corev1.Pod]) error {
		close(end)
		return errEnough
	})
	if err != errEnough || opened != 1 {
		t.Errorf("opened %d times: %v", opened, err)
	}
	checkStats(t, interceptor, 1, 0, nil)
}
