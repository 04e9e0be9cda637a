package reflector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/source"
)

// opened answers as then does, once it has reported that the watch is open.
func opened(then answer) answer {
	return func(ctx context.Context, y yield) error {
		if y.open != nil {
			y.open()
		}
		return then(ctx, y)
	}
}

// playOpening is play with a source that reports when a watch is open.
func playOpening(t *testing.T, answers []answer, during func(t *testing.T, p *playing, stop context.CancelFunc)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &playing{script: newScript(answers...), sink: newRecorder()}
		p.script.noStream, p.script.opens = true, true
		r, err := New[*thing](p.script, p.sink, Options{OnError: func(error) {}, Rand: lowest, PageSize: 2, OnStatus: func(s Status) {
			if published := p.sink.Len() > 0; s.Synced != published {
				t.Errorf("synced %v, and the sink has objects: %v", s.Synced, published)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		p.Reflector = r
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		during(t, p, cancel)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A watch of client-go's fakes never sends what was deleted before it was open.
func TestAListIsPublishedOnceTheWatchAfterItIsOpen(t *testing.T) {
	list := []answer{
		pages(source.Page[*thing]{Items: []source.Item[*thing]{item("a", "3")}, ResourceVersion: "5", Continue: "tok"}),
		lists("5", item("b", "4")),
	}
	for name, c := range map[string]struct {
		watch answer
		after time.Duration
		want  []string
	}{
		"open later": {after(time.Second, opened(silence)), time.Second, []string{"replace by a@3 b@4 at 5"}},
		"open, and an event": {after(time.Second, opened(sends(silence, event(source.Added, "c", "6")))), time.Second,
			[]string{"replace by a@3 b@4 at 5", "apply ADDED c@6 to be at 6"}},
		"an event, and no report": {after(time.Second, sends(silence, event(source.Added, "c", "6"))), time.Second,
			[]string{"replace by a@3 b@4 at 5", "apply ADDED c@6 to be at 6"}},
		"a bookmark, and no report": {after(time.Second, sends(silence, bookmark("9"))), time.Second,
			[]string{"replace by a@3 b@4 at 5", "bookmark 9"}},
		"refused":           {after(time.Second, fails(errReset)), time.Second, []string{"replace by a@3 b@4 at 5"}},
		"ended":             {after(time.Second, ends), time.Second, []string{"replace by a@3 b@4 at 5"}},
		"open, and refused": {after(time.Second, opened(fails(errReset))), time.Second, []string{"replace by a@3 b@4 at 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			playOpening(t, append(list[:2:2], c.watch), func(t *testing.T, p *playing, _ context.CancelFunc) {
				expect(t, "sink before it is open", p.sink.said())
				if s := p.Status(); s.Synced || s.Phase != Listing {
					t.Errorf("before it is open: synced %v, %v", s.Synced, s.Phase)
				}
				p.pass(c.after)
				expect(t, "sink", p.sink.said(), c.want...)
				if !p.Status().Synced {
					t.Error("it has not synced")
				}
			})
		})
	}
	t.Run("stopped before", func(t *testing.T) {
		playOpening(t, append(list[:2:2], silence), func(t *testing.T, p *playing, stop context.CancelFunc) {
			p.pass(time.Second)
			expect(t, "sink before it is open", p.sink.said())
			stop()
			synctest.Wait()
			expect(t, "sink", p.sink.said(), "replace by a@3 b@4 at 5")
		})
	})
	t.Run("the next list too", func(t *testing.T) {
		playOpening(t, append(list[:2:2], opened(silence), lists("8", item("d", "8")), after(time.Second, opened(silence))),
			func(t *testing.T, p *playing, _ context.CancelFunc) {
				expect(t, "sink", p.sink.said(), "replace by a@3 b@4 at 5")
				p.Relist(errReset)
				synctest.Wait()
				expect(t, "sink before the second watch is open", p.sink.said())
				p.pass(time.Second)
				expect(t, "sink", p.sink.said(), "replace by d@8 at 8")
			})
	})
}
