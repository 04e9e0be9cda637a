package kinglet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// recording is a slog.Handler that keeps each line.
type recording struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (r *recording) Enabled(context.Context, slog.Level) bool { return true }
func (r *recording) WithAttrs([]slog.Attr) slog.Handler       { panic("not called") }
func (r *recording) WithGroup(string) slog.Handler            { panic("not called") }

func (r *recording) Handle(_ context.Context, record slog.Record) error {
	line := []string{record.Level.String(), record.Message}
	record.Attrs(func(a slog.Attr) bool {
		line = append(line, fmt.Sprint(a.Key, "=", a.Value))
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, strings.Join(line, " "))
	return nil
}

func (r *recording) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// failing is a source in memory. While it has an error, its requests fail and its
// watches end.
type failing struct {
	*sourcetest.Static[*corev1.Pod]
	mu    sync.Mutex
	err   error         // guarded by mu
	began chan struct{} // guarded by mu; closed when there is another error
	asked atomic.Int64
}

func newFailing(pods ...*corev1.Pod) *failing {
	return &failing{Static: sourcetest.NewStatic(pods...), began: make(chan struct{})}
}

func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	close(f.began)
	f.began = make(chan struct{})
}

func (f *failing) now() (<-chan struct{}, error) {
	f.asked.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.began, f.err
}

func (f *failing) List(ctx context.Context, req source.ListRequest[*corev1.Pod], yield func(source.Page[*corev1.Pod]) error) error {
	if _, err := f.now(); err != nil {
		return err
	}
	return f.Static.List(ctx, req, yield)
}

func (f *failing) Watch(ctx context.Context, req source.WatchRequest[*corev1.Pod], yield func([]source.Event[*corev1.Pod]) error) error {
	began, err := f.now()
	if err != nil {
		return err
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-began:
			cancel()
		case <-within.Done():
		}
	}()
	err = f.Static.Watch(within, req, yield)
	if _, now := f.now(); now != nil {
		return now
	}
	return err
}

// loggedOf runs an informer of a failing source, and records its log.
func loggedOf(t *testing.T, f func(t *testing.T, src *failing, log *recording)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		src, log := newFailing(testpods.New("a", "1")), &recording{}
		inf, err := New[*corev1.Pod](src, Options[*corev1.Pod]{Name: "pods", DisableWatchList: true, Logger: slog.New(log)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- inf.Run(ctx) }()
		synctest.Wait()
		f(t, src, log)
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		if got, want := log.take(), []string{"DEBUG informer stopped informer=pods phase=Stopped"}; !slices.Equal(got, want) {
			t.Errorf("at the end: %q, want %q", got, want)
		}
	})
}

func TestAnInformerThatIsWellLogsThatItListsAndSynced(t *testing.T) {
	loggedOf(t, func(t *testing.T, _ *failing, log *recording) {
		testbubble.Pass(24 * time.Hour)
		want := []string{
			"DEBUG informer lists informer=pods phase=Listing cause=start",
			"DEBUG informer synced informer=pods phase=Watching",
		}
		if got := log.take(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// An informer that fails for six hours logs that at least every two minutes, because
// tries may be that far apart, and at most once a minute. It logs once that it is well
// again.
func TestAnInformerThatFailsForSixHoursSaysSoEveryMinute(t *testing.T) {
	loggedOf(t, func(t *testing.T, src *failing, log *recording) {
		log.take()
		pods := schema.GroupResource{Resource: "pods"}
		src.fail(apierrors.NewForbidden(pods, "", errors.New("no list for you")))
		began := time.Now()
		var lines []string
		var failures int
		for time.Since(began) < 6*time.Hour {
			testbubble.Pass(time.Minute)
			got := log.take()
			if len(got) > 1 {
				t.Fatalf("within a minute: %q", got)
			}
			lines = append(lines, got...)
		}
		if len(lines) < 180 || len(lines) > 360 {
			t.Errorf("%d lines in six hours", len(lines))
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, "WARN informer fails informer=pods phase=") || !strings.Contains(line, " cause=forbidden failures=") || !strings.Contains(line, "no list for you") {
				t.Fatalf("line %d is %q", i, line)
			}
			var n int
			if _, err := fmt.Sscanf(line[strings.Index(line, "failures="):], "failures=%d", &n); err != nil || n == 0 {
				t.Fatalf("line %d is %q: %v", i, line, err)
			}
			failures += n
		}
		if asked := int(src.asked.Load()); failures < asked/2 || failures > asked {
			t.Errorf("the lines speak of %d failures in about %d requests", failures, asked)
		}
		src.fail(nil)
		testbubble.Pass(5 * time.Minute)
		if err := src.Update(testpods.New("a", "2")); err != nil { // the first sign of life
			t.Fatal(err)
		}
		testbubble.Pass(5 * time.Minute)
		well := log.take()
		for len(well) > 0 && strings.HasPrefix(well[0], "WARN") {
			well = well[1:]
		}
		if len(well) != 1 || !strings.HasPrefix(well[0], "INFO informer is well again informer=pods phase=Watching failures=") {
			t.Errorf("when it is well: %q", well)
		}
	})
}

// Each cause is limited separately.
func TestAnotherCauseIsLoggedAtOnce(t *testing.T) {
	loggedOf(t, func(t *testing.T, src *failing, log *recording) {
		log.take()
		for _, c := range []struct {
			err   error
			cause string
		}{
			{apierrors.NewUnauthorized("who"), "unauthorized"},
			{apierrors.NewInternalError(errors.New("etcd is away")), "server_error"},
		} {
			src.fail(c.err)
			testbubble.Pass(59 * time.Second)
			if got := log.take(); len(got) != 1 || !strings.Contains(got[0], " cause="+c.cause+" ") {
				t.Errorf("%s: %q", c.cause, got)
			}
		}
		src.fail(nil)
		testbubble.Pass(10 * time.Minute)
		log.take()
	})
}

// An informer that fails and is well again every few seconds logs at most one line a
// minute of each, and ends well.
func TestAnInformerThatFlapsDoesNotFlood(t *testing.T) {
	loggedOf(t, func(t *testing.T, src *failing, log *recording) {
		log.take()
		var fails, well int
		for i := range 120 {
			src.fail(apierrors.NewServiceUnavailable("away"))
			testbubble.Pass(time.Second)
			src.fail(nil)
			testbubble.Pass(14 * time.Second)
			if i%2 == 0 {
				if err := src.Update(testpods.New("a", fmt.Sprint(i))); err != nil {
					t.Fatal(err)
				}
			}
		}
		// Nothing changes any more, so the informer is known to be well when the next
		// watch ends. That watch began at most two minutes later, and lasts at most
		// ten.
		testbubble.Pass(15 * time.Minute)
		got := log.take()
		for _, line := range got {
			if strings.HasPrefix(line, "WARN informer fails ") {
				fails++
			} else if strings.HasPrefix(line, "INFO informer is well again ") {
				well++
			} else {
				t.Errorf("%q", line)
			}
		}
		if fails < 15 || fails > 31 || well == 0 || well > fails || !strings.Contains(got[len(got)-1], "well again") {
			t.Errorf("in half an hour %d failures and %d recoveries were logged, at last %q", fails, well, got[len(got)-1])
		}
	})
}
