package reflector

import (
	"context"
	"errors"
	"io"
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

func TestWaitsAreDrawnFromTheirWholeRange(t *testing.T) {
	refused := fails(errReset)
	for _, tc := range []struct {
		name string
		rand func() float64
		want []string
	}{
		{"from the lower end", lowest, []string{"0s", "800ms", "2.4s", "5.6s", "12s", "24.8s", "50.4s", "1m20.4s", "1m50.4s"}},
		{"to the upper end", highest, []string{"0s", "1.6s", "4.8s", "11.2s", "24s", "49.6s", "1m40.8s", "2m40.8s", "3m40.8s"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			answers := make([]answer, 8)
			for i := range answers {
				answers[i] = refused
			}
			play(t, Options{DisableWatchList: true, Rand: tc.rand}, answers, func(t *testing.T, p *playing) {
				p.pass(5 * time.Minute)
				var want []string
				for _, at := range tc.want {
					want = append(want, at+` list "0" limit=500 continue=""`)
				}
				expect(t, "requests", p.script.heard(), want...)
			})
		})
	}
}

func TestTwoMinutesOfHealthBeginTheRowOfWaitsAnew(t *testing.T) {
	throttled := fails(apierrors.NewTooManyRequests("busy", 0))
	opened := event(source.Bookmark, "", "5")
	play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{
		throttled, throttled, throttled, // 0.8, 1.6 and 3.2 seconds
		lists("5"),
		sends(after(119*time.Second, throttled), opened), // 6.4 seconds
		sends(after(2*time.Minute, throttled), opened),   // 0.8 seconds
	}, func(t *testing.T, p *playing) {
		p.pass(10 * time.Minute)
		expect(t, "requests", p.script.heard(),
			`0s list "0" limit=500 continue=""`,
			`800ms list "0" limit=500 continue=""`,
			`2.4s list "0" limit=500 continue=""`,
			`5.6s list "0" limit=500 continue=""`,
			`5.6s watch "5"`,
			`2m11s watch "5"`,
			`4m11.8s watch "5"`,
			`9m41.8s watch "5"`) // 5 minutes and 30 seconds later, given up
	})
}

func TestRetryAfterIsTheLeastThatIsWaited(t *testing.T) {
	play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{
		fails(apierrors.NewTooManyRequests("busy", 7)),
		lists("5"),
		fails(apierrors.NewServerTimeout(things, "watch", 3)),
	}, func(t *testing.T, p *playing) {
		p.pass(time.Minute)
		expect(t, "requests", p.script.heard(),
			`0s list "0" limit=500 continue=""`, `7s list "0" limit=500 continue=""`, `7s watch "5"`, `10s watch "5"`)
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

func TestARefusedStreamIsNotTriedAgain(t *testing.T) {
	play(t, Options{}, []answer{
		fails(apierrors.NewInvalid(schema.GroupKind{}, "", nil)),
		lists("5"),
		after(time.Minute, sends(silence, errorEvent(apierrors.NewResourceExpired("gone")))),
	}, func(t *testing.T, p *playing) {
		p.pass(2 * time.Minute)
		expect(t, "requests", p.script.heard(),
			`0s watch-list ""`, `0s list "0" limit=500 continue=""`, `0s watch "5"`, `1m0s list "5" or newer limit=0 continue=""`)
		// That the version expired is told; that the stream was refused is not.
		if len(p.errors) != 1 || !apierrors.IsResourceExpired(p.errors[0]) {
			t.Errorf("reported: %v", p.errors)
		}
	})
}

func TestAWatchIsAskedForFiveToTenMinutesAndAnIdleOneIsFollowed(t *testing.T) {
	t.Run("when the server ends it", func(t *testing.T) {
		answers := []answer{lists("5")}
		for range 200 {
			answers = append(answers, after(7*time.Minute, ends))
		}
		play(t, Options{DisableWatchList: true}, answers, func(t *testing.T, p *playing) {
			p.pass(24 * time.Hour)
			low, high := time.Hour, time.Duration(0)
			for _, d := range p.script.timeouts {
				low, high = min(low, d), max(high, d)
			}
			if low < 5*time.Minute || high >= 10*time.Minute || low > 330*time.Second || high < 570*time.Second {
				t.Errorf("timeouts of %d watches lie between %v and %v", len(p.script.timeouts), low, high)
			}
			if s := p.Status(); s.Lists != 1 || s.Watches < 200 || s.LastError != nil {
				t.Errorf("after a day of silence: %+v", s)
			}
		})
	})
	t.Run("when the server does not, half a minute later", func(t *testing.T) {
		play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{lists("5"), silence},
			func(t *testing.T, p *playing) {
				p.pass(6 * time.Minute)
				expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`, `5m30s watch "5"`)
			})
	})
	t.Run("unless something comes all the same", func(t *testing.T) {
		alive := func(ctx context.Context, y yield) error {
			for range 40 {
				if err := after(20*time.Second, sends(ends, bookmark("6")))(ctx, y); err != nil {
					return err
				}
			}
			return silence(ctx, y)
		}
		play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{lists("5"), alive},
			func(t *testing.T, p *playing) {
				p.pass(14 * time.Minute) // the last bookmark comes at 13m20s
				expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`, `13m50s watch "6"`)
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

func TestEOFLeadsToAnotherWatchFromWhereItWas(t *testing.T) {
	play(t, Options{DisableWatchList: true}, []answer{
		lists("5"),
		sends(fails(io.EOF), event(source.Added, "a", "6")),
		sends(fails(io.ErrUnexpectedEOF), event(source.Added, "b", "7")),
	}, func(t *testing.T, p *playing) {
		expect(t, "requests", p.script.heard(),
			`0s list "0" limit=500 continue=""`, `0s watch "5"`, `0s watch "6"`, `0s watch "7"`)
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

func TestARestoredServerIsFollowedIntoANewEpoch(t *testing.T) {
	older := lists("40", item("a", "30"))
	play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{
		lists("100", item("a", "90"), item("b", "91")),
		after(time.Minute, sends(silence, errorEvent(apierrors.NewResourceExpired("gone")))),
		older, older, older, older, older,
	}, func(t *testing.T, p *playing) {
		p.pass(time.Minute + 5600*time.Millisecond)
		expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "100"`,
			`1m0s list "100" or newer limit=0 continue=""`,
			`1m0s list "" limit=500 continue=""`,
			`1m0.8s list "" limit=500 continue=""`,
			`1m2.4s list "" limit=500 continue=""`,
			`1m5.6s list "" limit=500 continue=""`,
			`1m5.6s watch "40"`)
		expect(t, "sink", p.sink.said(), "replace by a@90 b@91 at 100", "replace by a@30 at 40, a new epoch")
		if s := p.Status(); s.Epoch != 1 || s.ResourceVersion != "40" || s.LastError != nil {
			t.Errorf("%+v", s)
		}
		if last := p.errors[len(p.errors)-1]; !errors.Is(last, ErrRestored) {
			t.Errorf("reported last: %v", last)
		}
	})
}
