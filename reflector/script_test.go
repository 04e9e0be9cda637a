package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/source"
)

// yield is what an answer sends through; of one kind.
type yield struct {
	page   func(source.Page[*thing]) error
	events func([]source.Event[*thing]) error
	// open is the request's OnOpen.
	open func()
}

// answer is what a script says to one request. It returns as List or Watch do.
type answer func(ctx context.Context, y yield) error

// script is a source that answers each request with the next answer, and after
// the last one with silence.
type script struct {
	mu      sync.Mutex
	asked   []string // guarded by mu
	answers []answer // guarded by mu
	begin   time.Time
	// timeouts are those of the watches asked for; guarded by mu.
	timeouts []time.Duration
	noStream bool
	// opens is its ReportsOpen. Its answers that are watches call open.
	opens bool
	// probed, if not empty, is the version with which a probe is answered.
	probed string
}

func newScript(answers ...answer) *script { return &script{answers: answers, begin: time.Now()} }

func (s *script) String() string { return "things" }

func (s *script) Traits() source.Traits {
	return source.Traits{NoWatchList: s.noStream, ReportsOpen: s.opens}
}

func (s *script) next(format string, args ...any) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf("%v ", time.Since(s.begin).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	if len(s.answers) == 0 {
		return silence
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

// List implements source.Source. A probe is no part of the script, and is
// answered with a version that is newer than all others, or with probed.
func (s *script) List(ctx context.Context, r source.ListRequest[*thing], y func(source.Page[*thing]) error) error {
	if r.ResourceVersion == "" && r.Limit == 1 && r.Continue == "" {
		return lists(cmp.Or(s.probed, "1000000000"))(ctx, yield{page: y})
	}
	match := ""
	if r.NotOlderThan {
		match = " or newer"
	}
	return s.next("list %q%s limit=%d continue=%q", r.ResourceVersion, match, r.Limit, r.Continue)(ctx, yield{page: y})
}

func (s *script) Watch(ctx context.Context, r source.WatchRequest[*thing], y func([]source.Event[*thing]) error) error {
	s.mu.Lock()
	s.timeouts = append(s.timeouts, r.Timeout)
	s.mu.Unlock()
	verb := "watch"
	if r.SendInitialEvents {
		verb = "watch-list"
	}
	return s.next("%s %q", verb, r.ResourceVersion)(ctx, yield{events: y, open: r.OnOpen})
}

// heard returns the requests since the last time it was asked.
func (s *script) heard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := strings.Join(s.asked, "\n")
	s.asked = nil
	return asked
}

func silence(ctx context.Context, _ yield) error {
	<-ctx.Done()
	return ctx.Err()
}

// fails answers with err.
func fails(err error) answer { return func(context.Context, yield) error { return err } }

// after answers as a does, once d has passed.
func after(d time.Duration, a answer) answer {
	return func(ctx context.Context, y yield) error {
		select {
		case <-time.After(d):
			return a(ctx, y)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lists answers with one page.
func lists(version string, items ...source.Item[*thing]) answer {
	return pages(source.Page[*thing]{Items: items, ResourceVersion: version})
}

func pages(all ...source.Page[*thing]) answer {
	return func(_ context.Context, y yield) error {
		for _, p := range all {
			if err := y.page(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// sends answers with one batch, and then as then does.
func sends(then answer, events ...source.Event[*thing]) answer {
	return func(ctx context.Context, y yield) error {
		if err := y.events(events); err != nil {
			return err
		}
		return then(ctx, y)
	}
}

// ends answers with an end in good order.
func ends(context.Context, yield) error { return nil }

// play runs a reflector over a script in a bubble of its own time, and during
// beside it. Run must return when it is told to.
func play(t *testing.T, opts Options, answers []answer, during func(t *testing.T, p *playing)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &playing{script: newScript(answers...), sink: newRecorder()}
		opts := opts
		report := opts.OnError
		opts.OnError = func(err error) {
			p.errors = append(p.errors, err)
			if report != nil {
				report(err)
			}
		}
		if opts.DisableWatchList {
			p.script.noStream = true
		}
		r, err := New[*thing](p.script, p.sink, opts)
		if err != nil {
			t.Fatal(err)
		}
		p.Reflector = r
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		during(t, p)
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
		default:
			t.Error("Run has not returned, although its context has ended and nothing holds it")
		}
		if phase := r.Status().Phase; phase != Stopped {
			t.Errorf("after Run the phase is %v", phase)
		}
	})
}

type playing struct {
	*Reflector[*thing]
	script *script
	sink   *recorder
	// errors are those reported; to be read while the bubble is idle.
	errors []error
}

// pass lets time pass and everything come to rest.
func (p *playing) pass(d time.Duration) {
	<-time.After(d) // the bubble's clock moves when all are waiting
	synctest.Wait()
}

func expect(t *testing.T, what, got string, want ...string) {
	t.Helper()
	if w := strings.Join(want, "\n"); got != w {
		t.Errorf("%s:\n%s\nwant:\n%s", what, indent(got), indent(w))
	}
}

func indent(s string) string { return "\t" + strings.ReplaceAll(s, "\n", "\n\t") }

var errReset = errors.New("read: connection reset by peer")
