package follow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/metadata"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/resolve"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/internal/quantity"
)

const (
	// look is how often a session looks at its collections.
	look = 250 * time.Millisecond
	// progressEvery is how often progress is noted where it is not live.
	progressEvery = 2 * time.Second
)

// session is one run of Run.
type session struct {
	opts        Options
	collections []*collection
	notices     *notices
	began       time.Time
	events      rate
	latest      atomic.Pointer[vitals]

	nextStatus, nextProgress time.Time
}

// Run follows the resources until ctx ends, which is no error, until For has passed, until
// stdout is closed, or until there is no point in going on. It blocks until everything that
// it started has ended. The summary is nil only if opts are invalid.
//
// The error is ErrGaveUp, ErrOutputClosed, or a *NeverSyncedError if some collections
// failed and were never complete, or For had passed before they were.
func Run(ctx context.Context, opts Options) (*Summary, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &session{opts: opts, notices: newNotices(), began: time.Now()}
	if err := s.assemble(stop); err != nil {
		return nil, err
	}
	ended := s.drive(ctx, stop)
	return s.finish(ended)
}

// assemble makes the collections. broken is called with an error of stdout.
func (s *session) assemble(broken func(error)) error {
	client, err := metadata.NewForConfig(s.opts.Config)
	if err != nil {
		return err
	}
	for i, name := range resolve.ShortestNames(s.opts.Resources) {
		c, err := newCollection(&s.opts, s.opts.Resources[i], name, client, s.notices, broken)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.began = s.began
		s.collections = append(s.collections, c)
	}
	return nil
}

var (
	errForIsOver = errors.New("--for is over")
	errStopped   = errors.New("interrupted")
)

// drive runs everything until it is time to stop, and says why.
func (s *session) drive(ctx context.Context, stop context.CancelCauseFunc) error {
	set := kinglet.NewSet()
	defer s.servePage(set)()
	for _, c := range s.collections {
		if err := set.Add(c.informer); err != nil {
			return err
		}
		c.removeBar = s.opts.Screen.Progress(c.progress)
	}
	s.observe()
	s.opts.Screen.Status(func(width int) string { return statusLine(*s.latest.Load(), width) })

	var running sync.WaitGroup
	running.Go(func() {
		if err := set.Run(ctx); err != nil {
			stop(err)
		}
	})
	for _, c := range s.collections {
		running.Go(func() { c.expect(ctx) })
	}
	ended := s.lookAround(ctx)
	stop(ended)
	running.Wait()
	// Notices that were held back are shown now if they say why nothing works.
	if errors.Is(ended, ErrGaveUp) {
		s.flushNotices(time.Now().Add(passing))
	}
	return context.Cause(ctx)
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
	s.nextProgress = s.began.Add(progressEvery)
	s.nextStatus = s.began.Add(s.opts.StatusEvery)
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case <-over:
			return errForIsOver
		case now := <-ticker.C:
			prospects := s.observe()
			s.flushNotices(now)
			if hopeless(prospects) {
				return ErrGaveUp
			}
			s.noteProgress(now)
		}
	}
}

// observe looks at every collection once.
func (s *session) observe() []prospect {
	now := time.Now()
	v := &vitals{memory: readMemory()}
	prospects := make([]prospect, len(s.collections))
	var events int64
	for i, c := range s.collections {
		prospects[i] = s.observeOne(c, now)
		v.views = append(v.views, c.view())
		events += c.events()
	}
	s.events.add(now, events)
	v.perSecond = s.events.perSecond()
	s.latest.Store(v)
	return prospects
}

func (s *session) observeOne(c *collection, now time.Time) prospect {
	st := c.informer.Status()
	if st.Synced && !c.synced {
		c.synced = true
		c.finishBar()
		s.opts.Screen.Note(syncedText(c, st, now))
	}
	p := prospect{synced: c.synced, failing: st.LastError != nil}
	switch {
	case !p.failing:
		c.failingSince = time.Time{}
		s.notices.recovered(c.name, now)
	default:
		if c.failingSince.IsZero() {
			c.failingSince = now
		}
		p.kind, p.since = trouble.Classify(st.LastError), now.Sub(c.failingSince)
		c.finishBar() // the status line shows what is wrong
	}
	return p
}

func (c *collection) finishBar() {
	if c.removeBar != nil {
		c.removeBar()
		c.removeBar = nil
	}
}

func syncedText(c *collection, st kinglet.Status, now time.Time) string {
	text := c.name + ": " + quantity.Of(int64(st.Objects), "object")
	if c.subject.Namespace != "" {
		text += " in namespace " + c.subject.Namespace
		if st.Objects == 0 {
			text += " (-n or -A for others)"
		}
	}
	text += " in " + quantity.Duration(now.Sub(c.began).Round(10*time.Millisecond))
	if st.Bytes > 0 {
		text += " (" + quantity.Bytes(int64(st.Bytes)) + ")"
	}
	return text
}

func (s *session) flushNotices(now time.Time) {
	for _, line := range s.notices.take(now) {
		s.opts.Screen.Note(line)
	}
}

// noteProgress writes the lines that a live screen does not need.
func (s *session) noteProgress(now time.Time) {
	if s.opts.Screen.Live() {
		return
	}
	if !now.Before(s.nextProgress) {
		s.nextProgress = now.Add(progressEvery)
		for _, c := range s.collections {
			if v := c.view(); !v.synced && v.trouble == "" {
				s.opts.Screen.Note(c.name + ": syncing, " + c.progressText(v))
			}
		}
	}
	if s.opts.StatusEvery > 0 && !now.Before(s.nextStatus) {
		s.nextStatus = now.Add(s.opts.StatusEvery)
		s.opts.Screen.Note(statusLine(*s.latest.Load(), 0))
	}
}

// finish returns the summary.
func (s *session) finish(ended error) (*Summary, error) {
	sum := &Summary{Took: time.Since(s.began), Memory: readMemory()}
	failed := false
	for _, c := range s.collections {
		one := c.summary()
		sum.Collections = append(sum.Collections, one)
		failed = failed || (!one.Synced && one.Trouble != "")
	}
	switch {
	case errors.Is(ended, ErrGaveUp):
		sum.Ended = "nothing works"
		return sum, ErrGaveUp
	case errors.Is(ended, syscall.EPIPE):
		sum.Ended = "output closed"
		return sum, ErrOutputClosed
	case errors.Is(ended, errForIsOver):
		sum.Ended = "as long as --for said"
		failed = true
	case errors.Is(ended, errStopped), errors.Is(ended, context.Canceled):
		sum.Ended = "interrupted"
	default:
		sum.Ended = "failed"
		return sum, ended
	}
	if missing := sum.neverSynced(); failed && len(missing) > 0 {
		return sum, &NeverSyncedError{Collections: missing, Of: len(s.collections)}
	}
	return sum, nil
}
