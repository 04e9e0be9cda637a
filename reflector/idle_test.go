package reflector

import (
	"context"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/source"
)

// every sends a bookmark so many times, after so long each, and then as then
// does.
func every(d time.Duration, times int, version string, then answer) answer {
	for range times {
		then = after(d, sends(then, bookmark(version)))
	}
	return then
}

func TestASilentStreamIsWatchedAgainAfterThreeBookmarkIntervals(t *testing.T) {
	for _, tc := range []struct {
		name   string
		stream answer
		silent string // when it is given up
	}{
		{"since the last bookmark", every(time.Minute, 4, "7", silence), "7m0s"},
		{"since the last event", every(time.Minute, 3, "6",
			after(50*time.Second, sends(silence, event(source.Added, "a", "7")))), "6m50s"},
		{"when the last interval was cut short", every(time.Minute, 3, "6", every(2*time.Second, 1, "7", silence)), "6m2s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play(t, Options{DisableWatchList: true, Rand: highest}, []answer{
				lists("5"), tc.stream, sends(silence, event(source.Added, "b", "9")),
			}, func(t *testing.T, p *playing) {
				p.pass(9 * time.Minute)
				expect(t, "requests", p.script.heard(),
					`0s list "0" limit=500 continue=""`, `0s watch "5"`, tc.silent+` watch "7"`)
				s := p.Status()
				if s.SilentWatches != 1 || s.BookmarkInterval != time.Minute || s.ResourceVersion != "9" || s.Phase != Watching {
					t.Errorf("%+v", s)
				}
				if len(p.errors) != 0 || s.LastError != nil {
					t.Errorf("reported %v, last error %v", p.errors, s.LastError)
				}
			})
		})
	}
}

func TestWhatOneStreamTaughtHoldsForTheNext(t *testing.T) {
	short := every(time.Minute, 1, "6", after(time.Minute, ends))
	play(t, Options{DisableWatchList: true, Rand: highest}, []answer{lists("5"), short, short, short, every(time.Minute, 1, "6", silence)},
		func(t *testing.T, p *playing) {
			p.pass(11 * time.Minute)
			expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`,
				`2m0s watch "6"`, `4m0s watch "6"`, `6m0s watch "6"`, `10m0s watch "6"`)
		})
}

func TestAStreamWithoutBookmarksMayBeSilentUntilItsTimeout(t *testing.T) {
	for name, stream := range map[string]answer{
		"from the start":        silence,
		"after events":          after(time.Second, sends(after(time.Second, sends(after(time.Second, sends(silence, event(source.Added, "a", "8"))), event(source.Added, "a", "7"))), event(source.Added, "a", "6"))),
		"after two bookmarks":   every(time.Second, 2, "6", silence),
		"after a burst of them": sends(silence, bookmark("6"), bookmark("6"), bookmark("6"), bookmark("6")),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{DisableWatchList: true, Rand: lowest}, []answer{lists("5"), stream}, func(t *testing.T, p *playing) {
				p.pass(5*time.Minute + 29*time.Second)
				expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`)
				p.pass(time.Second)
				if s := p.Status(); s.Watches != 2 || s.SilentWatches != 0 || s.BookmarkInterval != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

func TestAFalseAlarmCostsOneWatchAndIsNotRepeated(t *testing.T) {
	// It pauses for a minute after each ten bookmarks.
	pausing := func(ctx context.Context, y yield) error {
		for {
			if err := every(10*time.Second, 10, "6", after(time.Minute, ends))(ctx, y); err != nil {
				return err
			}
		}
	}
	play(t, Options{DisableWatchList: true, Rand: highest}, []answer{lists("5"), pausing, pausing},
		func(t *testing.T, p *playing) {
			p.pass(9 * time.Minute)
			expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`, `2m10s watch "6"`)
			if s := p.Status(); s.SilentWatches != 1 || s.BookmarkInterval != 70*time.Second {
				t.Errorf("%+v", s)
			}
		})
}

func TestAStreamThatNobodyReadsIsNotSilent(t *testing.T) {
	play(t, Options{DisableWatchList: true, Rand: highest}, []answer{
		lists("5"),
		every(10*time.Second, 3, "6", sends(silence, event(source.Added, "a", "7"))),
	}, func(t *testing.T, p *playing) {
		p.sink.mu.Lock()
		p.sink.during = func() {
			if p.sink.held[key("a")] != nil {
				<-time.After(5 * time.Minute)
			}
		}
		p.sink.mu.Unlock()
		p.pass(5*time.Minute + 59*time.Second)
		expect(t, "requests", p.script.heard(), `0s list "0" limit=500 continue=""`, `0s watch "5"`)
		p.pass(time.Second)
		expect(t, "requests", p.script.heard(), `6m0s watch "7"`)
	})
}

func TestOnStatusTellsOfSilentWatches(t *testing.T) {
	var told []uint64
	play(t, Options{DisableWatchList: true, Rand: highest, OnStatus: func(s Status) { told = append(told, s.SilentWatches) }},
		[]answer{lists("5"), every(time.Minute, 3, "6", silence)},
		func(t *testing.T, p *playing) {
			p.pass(7 * time.Minute)
			if n := len(told); n == 0 || told[n-1] != 1 || told[n-2] != 0 {
				t.Errorf("told %v", told)
			}
		})
}
