package reflector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/source"
)

type traceKey struct{}

// recordedTrace notes what it is told, and what is wrong with it.
type recordedTrace struct {
	lines    []string
	problems []string
	open     map[string]bool
	last     Phase
	// What was told, to be compared with a status.
	lists     ListCounts
	ends      WatchEndCounts
	published uint64
	spans     int
}

func newRecordedTrace() *recordedTrace { return &recordedTrace{open: map[string]bool{}} }

func (r *recordedTrace) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *recordedTrace) begins(ctx context.Context, what, line string) context.Context {
	if len(r.open) > 0 {
		r.problem("%s begins within %v", what, r.open)
	}
	if ctx.Err() == nil && ctx.Value(traceKey{}) != nil {
		r.problem("%s begins in the context of %v", what, ctx.Value(traceKey{}))
	}
	r.spans++
	r.open[what] = true
	r.lines = append(r.lines, line)
	return context.WithValue(ctx, traceKey{}, fmt.Sprint(what, r.spans))
}

func (r *recordedTrace) over(ctx context.Context, what, line string) {
	if !r.open[what] || ctx.Value(traceKey{}) != fmt.Sprint(what, r.spans) {
		r.problem("%s ends in the context of %v, open is %v", what, ctx.Value(traceKey{}), r.open)
	}
	delete(r.open, what)
	r.lines = append(r.lines, line)
}

func (r *recordedTrace) ListBegins(ctx context.Context, l ListInfo) context.Context {
	r.lists[l.Cause]++
	return r.begins(ctx, "list", fmt.Sprintf("list %v first=%v streamed=%v rv=%q", l.Cause, l.First, l.Streamed, l.ResourceVersion))
}

func (r *recordedTrace) ListEnds(ctx context.Context, _ ListInfo, l ListResult) {
	if l.ResourceVersion != "" {
		r.published++
		if l.Err != nil {
			r.problem("a list was published, with %v", l.Err)
		}
	}
	r.over(ctx, "list", fmt.Sprintf("listed pages=%d objects=%d bytes=%d rv=%q failed=%v", l.Pages, l.Objects, l.Bytes, l.ResourceVersion, l.Err != nil))
}

func (r *recordedTrace) WatchBegins(ctx context.Context, w WatchInfo) context.Context {
	return r.begins(ctx, "watch", fmt.Sprintf("watch rv=%q", w.ResourceVersion))
}

func (r *recordedTrace) WatchEnds(ctx context.Context, _ WatchInfo, w WatchResult) {
	r.ends[w.End]++
	r.over(ctx, "watch", fmt.Sprintf("watched end=%v events=%d failed=%v", w.End, w.Events, w.Err != nil))
}

func (r *recordedTrace) PhaseChanges(_ string, t Transition) {
	if t.From != r.last {
		r.problem("from phase %v to %v, the last was %v", t.From, t.To, r.last)
	}
	r.last = t.To
}

// check compares what was told with the status after Run.
func (r *recordedTrace) check(t *testing.T, s Status) {
	t.Helper()
	if len(r.open) > 0 {
		r.problem("after Run there is still open: %v", r.open)
	}
	if r.lists != s.ListsByCause || r.published != s.Published || r.last != s.Phase {
		r.problem("lists %v, published %d, phase %v; the status has %v, %d, %v", r.lists, r.published, r.last, s.ListsByCause, s.Published, s.Phase)
	}
	for end, n := range s.WatchEnds {
		if r.ends[end] != n {
			r.problem("%d watches ended with %v, the status has %d", r.ends[end], WatchEnd(end), n)
		}
	}
	if len(r.problems) > 0 {
		t.Errorf("%d problems: %s\n%s", len(r.problems), r.problems[0], strings.Join(r.lines[max(0, len(r.lines)-20):], "\n"))
	}
}

func TestATracerIsToldOfListsAndWatches(t *testing.T) {
	trace := newRecordedTrace()
	answers := []answer{
		fails(apierrors.NewForbidden(things, "", nil)),
		pages(source.Page[*thing]{Items: []source.Item[*thing]{item("a", "1")}, ResourceVersion: "5", Continue: "next", Bytes: 100}),
		lists("5", item("b", "2")),
		sends(ends, event(source.Added, "c", "6")),
		sends(ends, errorEvent(apierrors.NewResourceExpired("gone"))),
		lists("9", item("a", "1")),
	}
	var after func() Status
	play(t, Options{DisableWatchList: true, PageSize: 1, Tracer: trace}, answers, func(_ *testing.T, p *playing) {
		p.pass(10 * time.Second)
		after = p.Status
	})
	want := []string{
		`list start first=true streamed=false rv="0"`,
		`listed pages=0 objects=0 bytes=0 rv="" failed=true`,
		`list start first=true streamed=false rv="0"`,
		`listed pages=2 objects=2 bytes=100 rv="5" failed=false`,
		`watch rv="5"`,
		`watched end=timeout events=1 failed=false`,
		`watch rv="6"`,
		`watched end=expired events=0 failed=true`,
		`list expired first=false streamed=false rv="6"`,
		`listed pages=1 objects=1 bytes=0 rv="9" failed=false`,
		`watch rv="9"`,
		`watched end=stopped events=0 failed=false`,
	}
	if !slices.Equal(trace.lines, want) {
		t.Errorf("told:\n%s\nwant:\n%s", strings.Join(trace.lines, "\n"), strings.Join(want, "\n"))
	}
	trace.check(t, after())
}
