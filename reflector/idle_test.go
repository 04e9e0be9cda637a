package reflector

import (
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
		again  string // and the next one, whose timeout of a minute the source ignores
	}{
		{"since the last bookmark", every(time.Minute, 4, "7", silence), "7m0s", "8m30s"},
		{"since the last event", every(time.Minute, 3, "6",
			after(50*time.Second, sends(silence, event(source.Added, "a", "7")))), "6m50s", "8m20s"},
		{"when the last interval was cut short", every(time.Minute, 3, "6", every(2*time.Second, 1, "7", silence)), "6m2s", "7m32s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			play(t, Options{DisableWatchList: true, Rand: highest}, []answer{
				lists("5"), tc.stream, sends(silence, event(source.Added, "b", "9")),
			}, func(t *testing.T, p *playing) {
				p.pass(9 * time.Minute)
				expect(t, "requests", p.script.heard(),
					`0s list "0" limit=500 continue=""`, `0s watch "5"`, tc.silent+` watch "7"`, tc.again+` watch "9"`)
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
