package reflector

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source"
)

var things = schema.GroupResource{Resource: "things"}

func lowest() float64  { return 0 }
func highest() float64 { return 0.9999999 }

func TestStreamedInitialEventsArePublishedWholeAtTheirEnd(t *testing.T) {
	play(t, Options{}, []answer{sends(
		after(time.Second, sends(silence,
			event(source.Modified, "a", "6"),
			event(source.Deleted, "b", "7"),
			initialEventsEnd("7"),
			event(source.Added, "c", "8"),
			bookmark("9"))),
		event(source.Added, "a", "3"), event(source.Added, "b", "5"),
	)}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said())
		if s := p.Status(); s.Phase != Streaming || s.Received != 2 || s.Synced {
			t.Errorf("status before the end: %+v", s)
		}
		p.pass(time.Second)
		expect(t, "sink", p.sink.said(), "replace by a@6 at 7", "apply ADDED c@8 to be at 8", "bookmark 9")
		expect(t, "requests", p.script.heard(), `0s watch-list ""`)
		if s := p.Status(); s.Phase != Watching || s.ResourceVersion != "9" || !s.Synced || s.Published != 1 {
			t.Errorf("status after the end: %+v", s)
		}
	})
}

func TestAListIsPublishedWholeAtItsEnd(t *testing.T) {
	play(t, Options{DisableWatchList: true, PageSize: 2}, []answer{
		pages(
			source.Page[*thing]{Items: []source.Item[*thing]{item("a", "3")}, More: true, Bytes: 10},
			source.Page[*thing]{Items: []source.Item[*thing]{item("b", "5")}, ResourceVersion: "8", Continue: "tok", Remaining: 1, Bytes: 20},
		),
		after(time.Second, lists("8", item("c", "1"))),
	}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said())
		if s := p.Status(); s.Phase != Listing || s.Received != 2 || s.Remaining != 1 || s.Bytes != 30 {
			t.Errorf("status between the pages: %+v", s)
		}
		p.pass(time.Second)
		expect(t, "sink", p.sink.said(), "replace by a@3 b@5 c@1 at 8")
		expect(t, "requests", p.script.heard(),
			`0s list "0" limit=2 continue=""`, `0s list "" limit=2 continue="tok"`, `1s watch "8"`)
	})
}

func TestABatchIsAppliedInStretchesAroundWhatIsNoChange(t *testing.T) {
	play(t, Options{DisableWatchList: true}, []answer{
		lists("10", item("a", "9")),
		sends(silence,
			event(source.Added, "b", "11"),
			event(source.Modified, "a", "12"),
			bookmark("15"),
			event(source.Modified, "a", "9"), // out of order, which is reported
			event(source.Deleted, "b", "16")),
	}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said(), "replace by a@9 at 10",
			"apply ADDED b@11 MODIFIED a@12 to be at 12", "bookmark 15", "apply MODIFIED a@9 DELETED b@16 to be at 16")
		if s := p.Status(); s.Events != 4 || s.Bookmarks != 1 {
			t.Errorf("status: %+v", s)
		}
	})
}

func TestAStreamWithoutProgressIsLeftAfterTheDeadline(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stream answer
		at     string
	}{
		{"when nothing comes at all", silence, "10s"},
		{"counting from the last event", after(9*time.Second, sends(
			after(9*time.Second, sends(silence, event(source.Added, "b", "4"))), event(source.Added, "a", "3"))), "28s"},
		{"when the server ends it without the bookmark", after(6*time.Second, sends(
			after(6*time.Second, ends), event(source.Added, "a", "3"))), "12s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play(t, Options{}, []answer{tc.stream, lists("5", item("a", "3"))}, func(t *testing.T, p *playing) {
				p.pass(time.Minute)
				expect(t, "requests", p.script.heard(),
					`0s watch-list ""`, tc.at+` list "0" limit=500 continue=""`, tc.at+` watch "5"`)
				expect(t, "sink", p.sink.said(), "replace by a@3 at 5")
			})
		})
	}
	t.Run("and a watch after its initial events may be silent", func(t *testing.T) {
		play(t, Options{}, []answer{sends(silence, initialEventsEnd("5"))}, func(t *testing.T, p *playing) {
			p.pass(5 * time.Minute)
			expect(t, "requests", p.script.heard(), `0s watch-list ""`)
		})
	})
}

func TestAListWithoutAnAnswerIsGivenUp(t *testing.T) {
	play(t, Options{DisableWatchList: true, ListProgress: time.Minute, Rand: lowest}, []answer{silence, silence, lists("5")},
		func(t *testing.T, p *playing) {
			p.pass(4 * time.Minute)
			expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`,
				`1m0.8s list "0" limit=500 continue=""`, `3m2.4s list "0" limit=500 continue=""`, `3m2.4s watch "5"`)
			if len(p.errors) != 2 || !errors.Is(p.errors[0], ErrStalled) {
				t.Errorf("reported: %v", p.errors)
			}
		})
}

func TestAnObjectThatCannotBeDecodedReachesTheSink(t *testing.T) {
	broken := event(source.Modified, "a", "6")
	broken.Object, broken.Err = nil, &source.ItemError{Stage: source.StageDecode, Key: key("a"), Err: errors.New("bad")}
	play(t, Options{DisableWatchList: true}, []answer{
		lists("5", item("a", "2")),
		sends(silence, broken, event(source.Added, "b", "7")),
	}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said(), "replace by a@2 at 5", "apply MODIFIED a@6! ADDED b@7 to be at 7")
		if s := p.Status(); s.Degraded || s.Phase != Watching || len(p.errors) != 0 {
			t.Errorf("the sink reports it, not the reflector: %+v, %v", s, p.errors)
		}
	})
}

func TestAnUnreadableIdentityDegradesUntilARelist(t *testing.T) {
	cause := errors.New("no name")
	nameless := source.Event[*thing]{Type: source.Modified, Item: source.Item[*thing]{ResourceVersion: "6",
		Err: &source.ItemError{Stage: source.StageKey, Err: cause}}}
	play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{
		lists("5", item("a", "2")),
		sends(silence, nameless, event(source.Added, "b", "7")),
		after(100*time.Millisecond, lists("9", item("a", "6"), item("b", "7"))),
	}, func(t *testing.T, p *playing) {
		expect(t, "sink", p.sink.said(), "replace by a@2 at 5", "apply MODIFIED @6! to be at 6", "apply ADDED b@7 to be at 7")
		s := p.Status()
		if !s.Degraded || s.Phase != Watching || s.Unreadable != 1 || !errors.Is(s.LastError, cause) || !errors.Is(s.LastError, ErrUnreadable) {
			t.Errorf("while degraded: %+v", s)
		}
		p.pass(time.Second)
		expect(t, "sink", p.sink.said(), "replace by a@6 b@7 at 9")
		expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`,
			`800ms list "7" or newer limit=0 continue=""`, `900ms watch "9"`)
		if s := p.Status(); s.Degraded || s.LastError != nil {
			t.Errorf("after the relist: %+v", s)
		}
		if len(p.errors) != 1 {
			t.Errorf("reported %v", p.errors)
		}
	})
}

func TestUnknownEventsAreReportedAndHealed(t *testing.T) {
	play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{
		lists("5"),
		sends(silence, source.Event[*thing]{Type: source.Unknown, Item: source.Item[*thing]{Err: errors.New("type PURGED")}},
			source.Event[*thing]{Type: source.EventType(77)}),
	}, func(t *testing.T, p *playing) {
		if s := p.Status(); !s.Degraded || len(p.errors) != 2 {
			t.Errorf("%+v, reported %v", s, p.errors)
		}
		p.pass(time.Second)
		expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`,
			`800ms list "5" or newer limit=0 continue=""`)
	})
}

func TestErrorsNameSourceVerbAndVersion(t *testing.T) {
	play(t, Options{Name: "informer of things", DisableWatchList: true}, []answer{
		lists("5"),
		fails(apierrors.NewForbidden(things, "", errors.New("no"))),
	}, func(t *testing.T, p *playing) {
		var e *Error
		if len(p.errors) != 1 || !errors.As(p.errors[0], &e) || !apierrors.IsForbidden(e) {
			t.Fatalf("reported %v", p.errors)
		}
		if e.Name != "informer of things" || e.Source != "things" || e.Verb != "watch" || e.ResourceVersion != "5" {
			t.Errorf("%+v", e)
		}
		expect(t, "message", e.Error(),
			`informer of things: watch things (resourceVersion "5"): things is forbidden: no`)
		if s := p.Status(); s.Phase != BackingOff || !s.Synced || s.ResourceVersion != "5" || s.LastError.Error() != e.Error() || !s.LastErrorTime.Equal(time.Now()) {
			t.Errorf("status: %+v", s)
		}
	})
}
