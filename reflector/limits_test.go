package reflector

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/source"
)

// limited is what a report says of a limit, and of what was asked for.
func limited(t *testing.T, err error, option, verb string, limit, reached int64) {
	t.Helper()
	var e *Error
	var l *LimitError
	if !errors.As(err, &e) || !errors.As(err, &l) || e.Verb != verb || *l != (LimitError{option, limit, reached}) {
		t.Errorf("reported %v", err)
	}
}

func TestAListOfMoreThanTheLimitIsLeftAndWhatIsHeldStays(t *testing.T) {
	endless := func(answers *int) answer {
		return func(_ context.Context, y yield) error {
			for n := 0; ; n++ {
				*answers = n
				if err := y.page(source.Page[*thing]{Items: []source.Item[*thing]{item(fmt.Sprint(n), "9")}, More: true, Bytes: 100}); err != nil {
					return err
				}
			}
		}
	}
	for _, c := range []struct {
		opts           Options
		option         string
		limit, reached int64
		pages          int
	}{
		{Options{MaxObjects: 4}, "MaxObjects", 4, 5, 4},
		{Options{MaxListBytes: 1000}, "MaxListBytes", 1000, 1100, 10},
	} {
		t.Run(c.option, func(t *testing.T) {
			pages := 0
			c.opts.DisableWatchList = true
			play(t, c.opts, []answer{lists("5", item("a", "3")), fails(apierrors.NewResourceExpired("too old")), endless(&pages), lists("9", item("a", "9"))},
				func(t *testing.T, p *playing) {
					expect(t, "sink", p.sink.said(), "replace by a@3 at 5")
					limited(t, p.errors[len(p.errors)-1], c.option, "list", c.limit, c.reached)
					if s := p.Status(); s.Phase != BackingOff || !s.Synced || pages != c.pages {
						t.Errorf("after %d pages: %+v", pages, s)
					}
					p.pass(time.Minute)
					expect(t, "sink", p.sink.said(), "replace by a@9 at 9")
				})
		})
	}
}

func TestPagesThatGoOnForEverAreLeftAtTheLimit(t *testing.T) {
	var answers []answer
	for n := range 10 {
		answers = append(answers, pages(source.Page[*thing]{
			Items: []source.Item[*thing]{item(fmt.Sprint(n), "9")}, ResourceVersion: "9", Continue: fmt.Sprint(n),
		}))
	}
	play(t, Options{DisableWatchList: true, PageSize: 1, MaxObjects: 3}, answers, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said())
		limited(t, p.errors[0], "MaxObjects", "list", 3, 4)
	})
}

func TestInitialEventsOfMoreThanTheLimitAreNeverPublished(t *testing.T) {
	// The end comes in the same batch.
	play(t, Options{MaxObjects: 2}, []answer{sends(silence,
		event(source.Added, "a", "1"), event(source.Added, "b", "2"), event(source.Added, "c", "3"), initialEventsEnd("3"),
	)}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said())
		limited(t, p.errors[0], "MaxObjects", "watch-list", 2, 3)
	})
}

func TestAsManyAsTheLimitAreTakenIn(t *testing.T) {
	play(t, Options{MaxObjects: 2}, []answer{sends(silence,
		event(source.Added, "a", "1"), event(source.Added, "b", "2"), initialEventsEnd("3"),
	)}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said(), "replace by a@1 b@2 at 3")
	})
}

func TestAWatchThatAddsMoreThanTheLimitIsTakenInUpToIt(t *testing.T) {
	play(t, Options{MaxObjects: 3}, []answer{
		sends(sends(silence,
			event(source.Modified, "a", "6"),
			event(source.Added, "c", "7"),
			event(source.Deleted, "b", "8"),
			event(source.Added, "b", "9"),
			event(source.Modified, "a", "10"),
			event(source.Added, "d", "11"),
			event(source.Modified, "a", "12"),
		), event(source.Added, "a", "1"), event(source.Added, "b", "2"), initialEventsEnd("5")),
		// A watch that was of use is gone on with at once; the second tells.
		sends(silence, event(source.Added, "d", "11")),
	}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said(), "replace by a@1 b@2 at 5",
			"apply MODIFIED a@6 ADDED c@7 DELETED b@8 ADDED b@9 MODIFIED a@10 to be at 10")
		limited(t, p.errors[0], "MaxObjects", "watch", 3, 4)
		expect(t, "requests", p.script.heard(), `0s watch-list ""`, `0s watch "10"`)
	})
}
