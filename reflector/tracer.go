package reflector

import (
	"context"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// Tracer observes lists, watches and changes of phase, for example to make spans of them.
// Its methods are called from Run's goroutine, under no lock, and should not block.
// Requests are made with the context that a Begins method returns, so that spans of HTTP
// requests become children of those of lists. It must be derived from the context that
// the method was given. The Ends method gets the same context. Every Begins is followed
// by its Ends before Run returns.
type Tracer interface {
	// ListBegins is called before the first page of a list, or the initial events of a
	// watch-list, are requested.
	ListBegins(ctx context.Context, l ListInfo) context.Context
	ListEnds(ctx context.Context, l ListInfo, r ListResult)
	// WatchBegins is called before a watch is requested, and when the initial events of a
	// watch-list are over; the returned context has no effect then.
	WatchBegins(ctx context.Context, w WatchInfo) context.Context
	WatchEnds(ctx context.Context, w WatchInfo, r WatchResult)
	// PhaseChanges is called after a change of phase of the reflector of that name.
	PhaseChanges(name string, t Transition)
}

// ListInfo is a list that begins.
type ListInfo struct {
	// Name is Options.Name.
	Name  string
	Cause ListCause
	// First is whether the sink has received no list yet.
	First bool
	// Streamed is whether it is a watch-list.
	Streamed bool
	// ResourceVersion is the requested version.
	ResourceVersion string
}

// ListResult is how a list ended.
type ListResult struct {
	// Pages counts pages, none for a watch-list. Objects is how many objects were kept
	// when the list ended, and Bytes how many bytes arrived, as far as the source knows.
	Pages          int
	Objects, Bytes int64
	// ResourceVersion is the list's. It is empty if the list was not published.
	ResourceVersion string
	// Err is why the list was not published; nil if it was, or if Run ended.
	Err error
}

// WatchInfo is a watch that begins.
type WatchInfo struct {
	// Name is Options.Name.
	Name            string
	ResourceVersion string
}

// WatchResult is how a watch ended.
type WatchResult struct {
	End WatchEnd
	// Events counts events, bookmarks not among them, and Bytes counts bytes as far as
	// the source knows.
	Events, Bytes uint64
	// Err is what failed, if anything did.
	Err error
}

// tracing is a driver's record of the list and the watch under way, for its Tracer.
type tracing struct {
	tracer Tracer
	name   string
	// parent is Run's context.
	parent context.Context
	// list and watch are nil if there is none under way.
	list  *traced[ListInfo]
	watch *traced[WatchInfo]
	// failures is the count of failures before the request under way.
	failures uint64
}

// traced is a list or a watch that has begun.
type traced[I any] struct {
	ctx  context.Context
	info I
	// counts are the machine's when it began.
	counts machine.Counts
	pages  int
}

// traceRequest returns the context for the request that is about to be sent: parent if
// there is no Tracer.
//
//go:noinline
func (d *driver[T]) traceRequest(parent context.Context) context.Context {
	t := d.tracing
	if t == nil {
		return parent
	}
	s, r := &d.machine.State, &d.now.Request
	t.parent, t.failures = parent, s.Counts.Failures
	switch r.Verb {
	case machine.VerbList, machine.VerbStream:
		if t.list == nil {
			t.listBegins(s, r)
		}
		return t.list.ctx
	case machine.VerbWatch:
		t.watchBegins(s, r.Version)
		return t.watch.ctx
	}
	return parent
}

func (t *tracing) listBegins(s *machine.State, r *machine.Request) {
	info := ListInfo{
		Name: t.name, Cause: s.Cause, First: !s.Synced, Streamed: r.Verb == machine.VerbStream, ResourceVersion: r.Version,
	}
	t.list = &traced[ListInfo]{ctx: t.tracer.ListBegins(t.parent, info), info: info, counts: s.Counts}
}

func (t *tracing) watchBegins(s *machine.State, version string) {
	info := WatchInfo{Name: t.name, ResourceVersion: version}
	t.watch = &traced[WatchInfo]{ctx: t.tracer.WatchBegins(t.parent, info), info: info, counts: s.Counts}
}

// tracePage counts a page of the list under way.
func (d *driver[T]) tracePage() {
	if t := d.tracing; t != nil && t.list != nil {
		t.list.pages++
	}
}

// tracePublished ends the list under way, and begins the watch that a stream becomes.
func (d *driver[T]) tracePublished(version string) {
	t := d.tracing
	if t == nil || t.list == nil {
		return
	}
	streamed := t.list.info.Streamed
	t.listEnds(&d.machine.State, d.staged.items, version, nil)
	if streamed {
		t.watchBegins(&d.machine.State, version)
	}
}

// traceOver is called when a request is over and the machine has been told.
func (d *driver[T]) traceOver() {
	t, s := d.tracing, &d.machine.State
	if t == nil {
		return
	}
	var err error
	if s.Counts.Failures > t.failures {
		err = d.reflector.wrap(&s.Recent.Last)
	}
	t.watchEnds(s, err)
	if s.List.Continue == "" { // otherwise another page is to come
		t.listEnds(s, d.staged.items, "", err)
	}
}

// traceEnd ends what is under way when Run returns.
func (d *driver[T]) traceEnd() {
	if t := d.tracing; t != nil {
		t.watchEnds(&d.machine.State, nil)
		t.listEnds(&d.machine.State, d.staged.items, "", nil)
		t.parent = nil
	}
}

func (t *tracing) listEnds(s *machine.State, objects int64, version string, err error) {
	l := t.list
	if l == nil {
		return
	}
	t.list = nil
	t.tracer.ListEnds(l.ctx, l.info, ListResult{
		Pages: l.pages, Objects: objects, Bytes: int64(s.Counts.Bytes - l.counts.Bytes), ResourceVersion: version, Err: err,
	})
}

func (t *tracing) watchEnds(s *machine.State, err error) {
	w := t.watch
	if w == nil {
		return
	}
	t.watch = nil
	r := WatchResult{End: WatchStopped, Events: s.Counts.Events - w.counts.Events, Bytes: s.Counts.Bytes - w.counts.Bytes, Err: err}
	for end, n := range s.Counts.WatchEnds {
		if n > w.counts.WatchEnds[end] {
			r.End = WatchEnd(end)
		}
	}
	t.tracer.WatchEnds(w.ctx, w.info, r)
}
