package reflector

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/source"
)

// counted says what a status counts, without what is zero.
func counted(s Status) string {
	var parts []string
	add := func(n uint64, name string, args ...any) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(name, args...)+fmt.Sprint("=", n))
		}
	}
	for i, n := range s.ListsByCause {
		add(n, "list/%v", ListCause(i))
	}
	for i, n := range s.WatchEnds {
		add(n, "end/%v", WatchEnd(i))
	}
	for v := range s.ErrorsBy {
		for c, n := range s.ErrorsBy[v] {
			add(n, "%v/%v", Verb(v), Code(c))
		}
	}
	return strings.Join(parts, " ")
}

func TestEachFailureIsCountedByVerbAndCodeAndEachListByItsCause(t *testing.T) {
	one := sends(ends, bookmark("6")) // so the server has a history
	cases := []struct {
		name    string
		answers []answer
		want    string
	}{
		{"refused", []answer{fails(apierrors.NewForbidden(things, "", nil)), lists("5")},
			"list/start=2 list/403=1"},
		{"not authenticated", []answer{fails(apierrors.NewUnauthorized("who")), lists("5")},
			"list/start=2 list/401=1"},
		{"throttled", []answer{fails(apierrors.NewTooManyRequests("busy", 1)), lists("5")},
			"list/start=2 list/429=1"},
		{"bad request", []answer{fails(apierrors.NewBadRequest("what")), lists("5")},
			"list/start=2 list/400=1"}, // the same list without a version, at once
		{"server error", []answer{lists("5"), one, fails(apierrors.NewInternalError(errReset))},
			"list/start=1 end/timeout=1 end/error=1 watch/5xx=1"},
		{"expired", []answer{lists("5"), sends(ends, errorEvent(apierrors.NewResourceExpired("gone"))), lists("9")},
			"list/start=1 list/expired=1 end/expired=1 watch/410=1"},
		{"not found", []answer{lists("5"), fails(apierrors.NewNotFound(things, "")), lists("9")},
			"list/start=1 list/not_found=1 end/error=1 watch/404=1"},
		{"no network", []answer{fails(syscall.ECONNREFUSED), lists("5")},
			"list/start=2 list/network=1"},
		{"a broken connection", []answer{lists("5"), one, fails(io.ErrUnexpectedEOF)},
			"list/start=1 end/timeout=1 end/broken=1 watch/network=1"},
		{"what cannot be read", []answer{lists("5"), one, fails(&source.MalformedError{Err: errReset})},
			"list/start=1 end/timeout=1 end/broken=1 watch/decode=1"},
		{"a limit", []answer{lists("5"), one, fails(&LimitError{Option: "MaxObjects"})},
			"list/start=1 end/timeout=1 end/stopped=1 watch/limit=1"},
		{"ended in order", []answer{lists("5"), after(time.Minute, ends)},
			"list/start=1 end/timeout=1"},
		{"a closure's own words", []answer{fails(errReset), lists("5")},
			"list/start=2 list/other=1"},
		{"an object without identity", []answer{lists("5"),
			sends(silence, source.Event[*thing]{Type: source.Added, Item: source.Item[*thing]{Err: errors.New("spoiled")}}), lists("9")},
			"list/start=1 list/repair=1 end/stopped=1 watch/decode=1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			play(t, Options{DisableWatchList: true, Rand: highest}, c.answers, func(t *testing.T, p *playing) {
				p.pass(90 * time.Second)
				s := p.Status()
				if got := counted(s); got != c.want {
					t.Errorf("%s\nwant %s", got, c.want)
				}
				if int(s.Errors) != len(p.errors) {
					t.Errorf("%d errors, %d told", s.Errors, len(p.errors))
				}
			})
		})
	}
}

func TestARelistIsCountedByWhoAskedForIt(t *testing.T) {
	for cause, want := range map[error]ListCause{
		errors.New("somebody asks"):                          ListRequested,
		fmt.Errorf("somebody compared: %w", ErrInconsistent): ListConsistency,
	} {
		play(t, Options{DisableWatchList: true}, []answer{lists("5"), silence, lists("9")}, func(t *testing.T, p *playing) {
			p.Relist(cause)
			p.pass(time.Second)
			s := p.Status()
			if s.ListsByCause[want] != 1 || s.ListsByCause[ListStart] != 1 || s.WatchEnds[WatchStopped] != 1 {
				t.Errorf("%v: %s", want, counted(s))
			}
		})
	}
}

func TestEventsAreCountedByTypeAndTheLastOneIsKnown(t *testing.T) {
	play(t, Options{}, []answer{
		sends(after(time.Second, sends(after(time.Second, sends(silence, bookmark("10"))),
			initialEventsEnd("5"), event(source.Added, "b", "6"), event(source.Modified, "b", "7"),
			event(source.Modified, "b", "8"), event(source.Deleted, "b", "9"))),
			event(source.Added, "a", "5")),
	}, func(t *testing.T, p *playing) {
		p.pass(2 * time.Second)
		s := p.Status()
		if s.EventsByType != (EventCounts{Added: 1, Modified: 2, Deleted: 1}) || s.Events != 5 {
			t.Errorf("%+v of %d", s.EventsByType, s.Events)
		}
		if !s.LastEvent.Equal(time.Now().Add(-time.Second)) || !s.LastContact.Equal(time.Now()) {
			t.Errorf("last event %v, contact %v", s.LastEvent, s.LastContact)
		}
	})
}

func TestTransitionsAreTheLast32ChangesOfPhaseWithTheReason(t *testing.T) {
	answers := []answer{lists("5"), sends(ends, bookmark("6"))}
	for range 20 {
		answers = append(answers, after(time.Second, fails(io.ErrUnexpectedEOF)))
	}
	play(t, Options{DisableWatchList: true}, answers, func(t *testing.T, p *playing) {
		first := p.Transitions()
		if first[0].From != Starting || first[0].To != Listing || first[0].Err != nil {
			t.Errorf("begins with %+v", first[0])
		}
		p.pass(time.Hour)
		all := p.Transitions()
		if len(all) != maxTransitions {
			t.Fatalf("%d transitions", len(all))
		}
		if last := all[len(all)-1]; last.To != p.Status().Phase || !last.At.Equal(p.Status().Since) {
			t.Errorf("the last is %+v, the phase %v", last, p.Status().Phase)
		}
		for i, tr := range all {
			if i > 0 && (tr.From != all[i-1].To || tr.At.Before(all[i-1].At)) {
				t.Errorf("%d: %+v after %+v", i, tr, all[i-1])
			}
			var e *Error
			if (tr.To == BackingOff) != (tr.Err != nil) || tr.Err != nil && (!errors.As(tr.Err, &e) || e.Verb != "watch") {
				t.Errorf("%d: %+v", i, tr)
			}
		}
	})
}

func TestTheRequestUnderWayIsShownAndThenTheLastOne(t *testing.T) {
	play(t, Options{PageSize: 7, Rand: lowest}, []answer{
		sends(after(time.Second, sends(after(time.Second, fails(apierrors.NewForbidden(things, "", nil))), initialEventsEnd("5")))),
	}, func(t *testing.T, p *playing) {
		begin := time.Now()
		stream := Request{Verb: WatchList, At: begin, UnderWay: true, Timeout: DefaultWatchTimeoutMin}
		if r := p.Request(); r != stream {
			t.Errorf("%+v", r)
		}
		p.pass(time.Second)
		if r := p.Request(); r != stream || p.Status().Phase != Watching {
			t.Errorf("after its initial events: %+v", r)
		}
		p.pass(time.Second)
		stream.UnderWay = false
		if r := p.Request(); r != stream || p.Status().Phase != BackingOff {
			t.Errorf("after its end: %+v", r)
		}
		p.pass(2 * time.Second)
		if r := p.Request(); r.Verb != Watch || r.ResourceVersion != "5" || !r.UnderWay || r.At.Equal(begin) {
			t.Errorf("the next one: %+v", r)
		}
	})
	play(t, Options{DisableWatchList: true, PageSize: 7}, []answer{
		pages(source.Page[*thing]{ResourceVersion: "5", Continue: "more"}), silence,
	}, func(t *testing.T, p *playing) {
		if r := p.Request(); r.Verb != List || !r.Continued || r.Limit != 7 || r.ResourceVersion != "" || r.Timeout != 0 {
			t.Errorf("the second page: %+v", r)
		}
	})
}

// checkCounts compares the counts of a reflector that has stopped with each other and
// with how many errors it told. Package machine has the exact equations.
func checkCounts(t *testing.T, s Status, told int) {
	t.Helper()
	var causes, ends, errs uint64
	for _, n := range s.ListsByCause {
		causes += n
	}
	for _, n := range s.WatchEnds {
		ends += n
	}
	for _, row := range s.ErrorsBy {
		for _, n := range row {
			errs += n
		}
	}
	if causes < s.Published || causes > s.Lists+s.Streams || causes < s.Streams {
		t.Errorf("%d lists by cause, %d list requests, %d streams, %d published", causes, s.Lists, s.Streams, s.Published)
	}
	if ends < s.Watches || ends > s.Watches+s.Streams {
		t.Errorf("%d watches ended of %d, and %d streams", ends, s.Watches, s.Streams)
	}
	if errs != s.Errors || int(errs) != told {
		t.Errorf("%d errors by verb and code, %d counted, %d told", errs, s.Errors, told)
	}
}
