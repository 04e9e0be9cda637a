package kinglet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// phaseLine reports whether a line is about an informer's phase: see log_test.go.
func phaseLine(line []byte) bool { return bytes.Contains(line, []byte(" phase=")) }

// pathed is a source in memory. Each of its watches reports the next of its paths, and
// all watches but the last end after a minute.
type pathed struct {
	*sourcetest.Static[*corev1.Pod]
	mu    sync.Mutex
	paths []source.ReadPath // guarded by mu
}

// left returns how many paths are to come.
func (p *pathed) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.paths)
}

func (p *pathed) List(ctx context.Context, req source.ListRequest[*corev1.Pod], yield func(source.Page[*corev1.Pod]) error) error {
	req.OnPath = nil
	return p.Static.List(ctx, req, yield)
}

func (p *pathed) Watch(ctx context.Context, req source.WatchRequest[*corev1.Pod], yield func([]source.Event[*corev1.Pod]) error) error {
	p.mu.Lock()
	next := p.paths
	p.paths = next[min(1, len(next)):]
	p.mu.Unlock()
	if len(next) > 0 {
		req.OnPath(next[0])
	}
	req.OnPath = nil
	if len(next) <= 1 {
		return p.Static.Watch(ctx, req, yield)
	}
	within, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.Static.Watch(within, req, yield); ctx.Err() != nil || within.Err() == nil {
		return err
	}
	return nil
}

// TestStatusShowsHowObjectsAreReadWhyAndSinceWhen, the way back to the wire
// included, and a line is logged when that changes, and only then.
func TestStatusShowsHowObjectsAreReadWhyAndSinceWhen(t *testing.T) {
	missed := func() error { return &source.InterceptError{Source: "pods", Err: source.ErrNotIntercepted} }
	for _, tc := range []struct {
		name  string
		paths []source.ReadPath
		// lines are what is logged of each path, or empty.
		lines []string
	}{
		{"the wire all along", []source.ReadPath{{Path: source.PathProtobuf}, {Path: source.PathProtobuf}}, []string{"", ""}},
		{"the client's decoder, as was chosen", []source.ReadPath{{Path: source.PathClient, Why: source.ErrNoInterceptor}}, []string{""}},
		{
			"an interceptor that is missed, and then found",
			[]source.ReadPath{{Path: source.PathClient, Why: missed()}, {Path: source.PathClient, Why: missed()}, {Path: source.PathProtobuf}},
			[]string{"no request passed WrapTransport", "", `now="wire, protobuf" why=<nil>`},
		},
		{
			"the wire, the client's decoder, and the wire again",
			[]source.ReadPath{{Path: source.PathJSON}, {Path: source.PathClient, Why: missed()}, {Path: source.PathJSON}, {Path: source.PathJSON}},
			[]string{"", `before="wire, JSON" now="the client's decoder"`, `before="the client's decoder" now="wire, JSON"`, ""},
		},
		{
			"another reason",
			[]source.ReadPath{{Path: source.PathClient, Why: missed()}, {Path: source.PathClient, Why: errors.New("another")}},
			[]string{"no request", "another"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := testkit.Log{Skip: phaseLine}
			was := slog.Default()
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
			defer slog.SetDefault(was)
			synctest.Test(t, func(t *testing.T) {
				src := &pathed{Static: sourcetest.NewStatic[*corev1.Pod](), paths: tc.paths}
				inf, err := New[*corev1.Pod](src, Options[*corev1.Pod]{DisableWatchList: true, OnError: func(error) {}})
				if err != nil {
					t.Fatal(err)
				}
				if st := inf.Status(); st.ReadPath != (ReadPath{}) {
					t.Errorf("before it runs: %+v", st.ReadPath)
				}
				ctx, cancel := context.WithCancel(t.Context())
				ran := make(chan error)
				go func() { ran <- inf.Run(ctx) }()
				var before ReadPath
				for i, want := range tc.paths {
					synctest.Wait()
					got := inf.Status().ReadPath
					if !got.Same(want) {
						t.Errorf("path %d: %+v, want %+v", i, got, want)
					}
					since := before.Since
					if i == 0 || !want.Same(before) {
						since = time.Now()
					}
					if !got.Since.Equal(since) {
						t.Errorf("path %d: since %v, want %v", i, got.Since, since)
					}
					before = got
					if line := log.Take(); (tc.lines[i] == "") != (line == "") || !strings.Contains(line, tc.lines[i]) || strings.Count(line, "\n") > 1 {
						t.Errorf("path %d: %q is logged, want %q", i, line, tc.lines[i])
					}
					if i < len(tc.paths)-1 {
						for src.left() > len(tc.paths)-i-2 {
							testbubble.Pass(time.Second)
							synctest.Wait()
						}
					}
				}
				cancel()
				if err := <-ran; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
