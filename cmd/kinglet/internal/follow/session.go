package follow

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/eventlog"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// look is how often a session looks at its collections.
	look = 250 * time.Millisecond
	// progressEvery and statusEvery are how often progress and status are noted.
	progressEvery = 2 * time.Second
	statusEvery   = 10 * time.Second
	// passing is how long an error that is often transient is held back: most are over
	// at the next try.
	passing = time.Second
	// patience is how long a server that was never reached is tried before giving up, if
	// there is nothing else to wait for.
	patience = 5 * time.Second
)

// Options say what to follow and how to show it. All fields are required unless they say
// otherwise.
type Options struct {
	// Config is shared by all resources, and so are its connections.
	Config    *rest.Config
	Resources []Resource
	// Namespace is empty for all namespaces. Resources without namespaces ignore it.
	Namespace                    string
	LabelSelector, FieldSelector string
	// Output is where everything goes.
	Output *Output
	// Format appends an event to what is written to stdout. It is called from several
	// goroutines.
	Format func(buf []byte, e eventlog.Event) ([]byte, error)
	// Initial writes an event for each object that exists already. Otherwise Exists, unless
	// it is nil, is called with its key.
	Initial bool
	Exists  func(store.Key)
	// For ends the session after a time; 0 means never.
	For time.Duration
	// Page is where a page of the collections is served; nil for none. The caller closes
	// it.
	Page net.Listener
	// Subject is what errors are explained with.
	Subject trouble.Subject
}

// ErrShown is returned when a session has failed and the reason has been shown.
var ErrShown = errors.New("the reason has been shown")

var (
	errForIsOver = errors.New("as long as --for said")
	errGaveUp    = errors.New("nothing works")
)

// session is one run of Run.
type session struct {
	opts        Options
	collections []*collection
	began       time.Time
	// events had come at the time counted, when the last status line was written.
	events  int64
	counted time.Time
}

// Run follows the resources until ctx ends, until For has passed, until stdout is closed,
// or until there is no point in going on, and shows a summary. It blocks until everything
// that it started has ended. It returns an error if stdout could not be written to, if
// collections failed and were never complete, or if For had passed before they were.
func Run(ctx context.Context, opts Options) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &session{opts: opts, began: time.Now()}
	s.counted = s.began
	set := kinglet.NewSet()
	for i, name := range Names(opts.Resources) {
		c, err := newCollection(&s.opts, opts.Resources[i], name, stop)
		if err == nil {
			err = set.Add(c.informer)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.collections = append(s.collections, c)
	}
	defer s.servePage(set)()
	var running sync.WaitGroup
	running.Go(func() {
		if err := set.Run(ctx); err != nil {
			stop(err)
		}
	})
	stop(s.lookAround(ctx))
	running.Wait()
	return s.finish(context.Cause(ctx))
}

// servePage serves the page of the set, if there is a listener for it, until stop is
// called, which waits for its end.
func (s *session) servePage(set *kinglet.Set) (stop func()) {
	if s.opts.Page == nil {
		return func() {}
	}
	host, port, _ := net.SplitHostPort(s.opts.Page.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	s.opts.Output.Note("page: http://" + net.JoinHostPort(host, port) + "/")
	// Nothing else is served: a request for /metrics must not be answered with a page.
	paths := http.NewServeMux()
	paths.Handle("/{$}", page.Handler(set))
	server := &http.Server{Handler: paths, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(s.opts.Page); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Output.Note("error: the page is no longer served: " + err.Error())
		}
	}()
	return func() { _ = server.Close(); <-ended }
}

// lookAround looks at the collections again and again until it is time to
// stop.
func (s *session) lookAround(ctx context.Context) error {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	var over <-chan time.Time
	if s.opts.For > 0 {
		timer := time.NewTimer(s.opts.For)
		defer timer.Stop()
		over = timer.C
	}
	progress, status := s.began.Add(progressEvery), s.began.Add(statusEvery)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return errForIsOver
		case now := <-ticker.C:
			for _, line := range s.observe(now) {
				s.opts.Output.Note(line)
			}
			if s.hopeless(now) {
				return errGaveUp
			}
			if now.After(progress) {
				progress = now.Add(progressEvery)
				for _, v := range s.views(now) {
					if !v.synced && v.trouble == "" {
						s.opts.Output.Note(v.name + ": syncing, " + v.progress())
					}
				}
			}
			if now.After(status) {
				status = now.Add(statusEvery)
				s.opts.Output.Note(s.status(now))
			}
		}
	}
}

// observe looks at every collection once, and returns the lines to show: collections that
// are complete, that fail, each error once until it changes, and that work again. The same
// error of several collections is one line.
func (s *session) observe(now time.Time) []string {
	var told []note
	for _, c := range s.collections {
		for _, text := range c.observe(now, s.began) {
			told = append(told, note{c.name, text})
		}
	}
	return grouped(told)
}

// views returns the state of every collection.
func (s *session) views(now time.Time) []view {
	var views []view
	for _, c := range s.collections {
		views = append(views, c.view(now.Sub(s.began)))
	}
	return views
}

// status is the status line. Its rate is that since the last one.
func (s *session) status(now time.Time) string {
	views, events := s.views(now), int64(0)
	for i := range views {
		events += views[i].events()
	}
	perSecond := float64(events-s.events) / max(now.Sub(s.counted).Seconds(), 1e-9)
	s.events, s.counted = events, now
	return status(views, perSecond, readMemory())
}

// note is a text about a collection.
type note struct{ about, text string }

// grouped makes one line of collections with the same text, in the place of the first.
func grouped(notes []note) (lines []string) {
	var texts []string
	about := map[string][]string{}
	for _, n := range notes {
		if about[n.text] == nil {
			texts = append(texts, n.text)
		}
		about[n.text] = append(about[n.text], n.about)
	}
	for _, text := range texts {
		what, failed := strings.CutPrefix(text, failure)
		line := strings.Join(about[text], ", ") + ": " + what
		if failed {
			line = failure + line
		}
		lines = append(lines, line)
	}
	return lines
}

// hopeless reports whether there is no point in going on: no collection ever worked, and
// none will soon. While one works or has worked, the others are retried.
func (s *session) hopeless(now time.Time) bool {
	return !slices.ContainsFunc(s.collections, func(c *collection) bool { return c.synced || !c.hopeless(now) })
}

// finish shows the summary.
func (s *session) finish(ended error) error {
	if errors.Is(ended, syscall.EPIPE) {
		return nil // the reader of stdout has gone
	}
	now := time.Now()
	s.observe(now)
	views := s.views(now)
	var missing []string
	failed := errors.Is(ended, errForIsOver)
	for _, view := range views {
		if view.synced {
			continue
		}
		text := view.name
		if view.trouble != "" {
			text += " (" + view.trouble + ")"
			failed = true
		}
		missing = append(missing, text)
	}
	why := "failed"
	switch {
	case errors.Is(ended, errGaveUp):
		return ErrShown
	case errors.Is(ended, context.Canceled):
		why, ended = "interrupted", nil
	case errors.Is(ended, errForIsOver):
		why, ended = ended.Error(), nil
	}
	for line := range strings.SplitSeq(summary(views, now.Sub(s.began), readMemory(), why), "\n") {
		s.opts.Output.Note(line)
	}
	if ended == nil && failed && len(missing) > 0 {
		return fmt.Errorf("%d of %s never synced: %s", len(missing), quantity.Of(int64(len(views)), "resource"), strings.Join(missing, ", "))
	}
	return ended
}
