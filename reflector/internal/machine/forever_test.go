package machine

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// TestAWatchThatAlwaysFailsAtOneEventDoesNotKeepTheStoreFromTheServersState lets every
// watch of a machine fail in one way before it has sent one event: that of one version, or
// the first new one. Lists are answered. So lists have to bring what the watches do not,
// and no list may follow another without a wait.
func TestAWatchThatAlwaysFailsAtOneEventDoesNotKeepTheStoreFromTheServersState(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(2000) {
		s := newStuck(seed, i)
		if err := s.run(); err != nil {
			t.Fatalf("seed %d, machine %d: %v\nevery watch fails with %+v, streamed %v, at %d\nstate %+v", seed, i, err, s.failure, s.streamed, s.poison, s.m.State)
		}
	}
}

// each runs do, the answer to each effect, on machines that begin in different ways.
func each(t *testing.T, do func(s *stuck, w *world) (next func(e Effect) error)) {
	seed := testkit.Seed(t)
	for i := range uint64(2000) {
		w := newWorld(seed, i)
		s := &stuck{m: w.m, rand: w.rand}
		next := do(s, w)
		s.step(Input{Kind: Start})
		for s.now < 2*Hour {
			if err := next(s.next); err != nil {
				t.Fatalf("seed %d, machine %d at %s: %v\nstate %+v", seed, i, duration(s.now), err, s.m.State)
			}
		}
	}
}

var refusedByServer, cutOff = Failure{Class: Server}, Failure{Class: Transport}

// A server refuses everything for a while, and afterwards cuts each watch while nothing happens.
func TestAfterAnOutageAWatchThatIsCutWhileQuietIsFollowedAtOnce(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		cut := 2*s.m.config.BackoffMin + Nanos(s.rand.Int64N(int64(3*Minute)))
		from, to := Minute, Minute+Nanos(s.rand.Int64N(int64(10*Minute)))
		return func(e Effect) error {
			switch {
			case e.Kind != Wait && s.now >= from && s.now < to:
				s.step(Input{Kind: Ended, Failure: refusedByServer})
			case e.Kind == Watch && e.Request.Verb == VerbWatch:
				s.now += cut
				s.step(Input{Kind: Ended, Failure: cutOff})
				if s.next.Kind == Wait && !s.m.Relist {
					return fmt.Errorf("a watch was cut after %s, and a wait of %s follows", duration(cut), between(s.next))
				}
				if s.next.Kind == Watch && w.chance(3) {
					s.step(Input{Kind: Ended, Failure: refusedByServer})
					if s.next.Min > s.m.config.BackoffMin && !s.m.Relist {
						return fmt.Errorf("after a watch of %s, one is refused, and a wait of %s follows", duration(cut), between(s.next))
					}
				}
			default:
				s.answer(e)
			}
			return nil
		}
	})
}

// Every other watch ends, or is cut, after some seconds, and the next one fails at once.
func TestWatchesThatHoldDoNotMakeListsFrequent(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		cut, bad, lists := Nanos(s.rand.Int64N(int64(20*Second))), false, 0
		end := []Failure{cutOff, {}}[s.rand.IntN(2)]
		failure := []Failure{{Class: Expired}, refusedByServer, {Class: Transport, Unanswered: true, Unreachable: true}, {Class: Throttled, RetryAfter: Second}}[s.rand.IntN(4)]
		return func(e Effect) error {
			switch {
			case e.Kind == Watch && e.Request.Verb == VerbWatch:
				if bad = !bad; bad {
					s.step(Input{Kind: Ended, Failure: failure})
					break
				}
				s.now += cut
				s.step(Input{Kind: Ended, Failure: end})
			default:
				if e.Kind == List && e.Request.Verb == VerbList {
					lists++
				}
				s.answer(e)
			}
			if most := 20 + 3*int(s.now/s.m.config.BackoffMax); lists > most {
				return fmt.Errorf("after watches of %s, %d lists because of %+v", duration(cut), lists, failure)
			}
			return nil
		}
	})
}

// Pages are answered, but each list whose version expires between them: or only lists in one piece.
// What must not come may come once a version has expired, or on no condition.
func TestAListComesInPagesOrWhole(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		whole, expires, lists := w.chance(2), w.chance(2), 0
		failure := []Failure{cutOff, refusedByServer, {Class: Protocol, Err: Truncated}}[s.rand.IntN(3)]
		page := func(token string) {
			s.step(Input{Kind: Page, Items: 1, Version: "100", Continue: token})
			s.step(Input{Kind: Ended})
		}
		return func(e Effect) error {
			r := e.Request
			switch {
			case s.m.Synced:
				s.now = 2 * Hour
			case e.Kind != List || r.Verb != VerbList:
				s.answer(e)
			case r.Continue == "" && r.Limit == 0 && !whole:
				s.now += 5 * Second
				s.step(Input{Kind: Ended, Failure: failure})
			case r.Continue == "" && r.Limit > 0:
				lists++
				page("next")
			case r.Continue != "" && (whole || expires && w.chance(2) || lists == 1):
				s.step(Input{Kind: Ended, Failure: Failure{Class: Expired}})
			default:
				page("")
			}
			if s.now > Hour && !s.m.Synced {
				return fmt.Errorf("no list has come; whole %v", whole)
			}
			return nil
		}
	})
}

// A source without bookmarks, whose next watch is refused, never ends one that is open, whatever
// timeout was asked for, and always has something to send.
func TestAListThatIsDueComesIfNoWatchEnds(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		failure := []Failure{{Class: Throttled, RetryAfter: Second}, {Class: Transport, Unanswered: true, Unreachable: true}}[s.rand.IntN(2)]
		watches, version, open := 0, 1000, Nanos(0)
		return func(e Effect) error {
			switch {
			case e.Kind != Watch || e.Request.Verb != VerbWatch:
				s.answer(e)
			case watches == 0 || s.m.Refusals == 1 && w.chance(2):
				watches++
				s.step(Input{Kind: Ended, Failure: failure})
			case s.relist > 0 && s.now >= s.relist:
				s.step(Input{Kind: RelistDue})
			default:
				if s.now, version = s.now+10*Second, version+1; !s.m.Missed {
					open = s.now
				}
				s.step(Input{Kind: Event, Event: Modified, Version: strconv.Itoa(version)})
			}
			if s.now-open > 10*Minute {
				return fmt.Errorf("no list since %s", duration(open))
			}
			return nil
		}
	})
}

// A source without history answers watches for a while, then none, then again.
func TestWhatHappenedWhileNoWatchWasAnsweredIsListed(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		from, to, listed := 10*Minute, 10*Minute+Nanos(s.rand.Int64N(int64(40*Minute))), Nanos(0)
		return func(e Effect) error {
			switch {
			case e.Kind != Watch || e.Request.Verb != VerbWatch:
				if e.Kind == List && e.Request.Verb == VerbList {
					listed = s.now
				}
				s.answer(e)
			case s.now >= from && s.now < to:
				s.now += max(Minute, min(e.Min, 10*Minute))
				s.step(Input{Kind: TimedOut, Failure: Failure{Unanswered: true}})
			default:
				s.now += e.Min
				s.step(Input{Kind: Ended})
			}
			if s.now > to+15*Minute && listed < to-Minute {
				return fmt.Errorf("watches were answered again at %s, and no list since %s", duration(to), duration(listed))
			}
			return nil
		}
	})
}

// A server sends bookmarks for an hour, and none from then on. Only others write.
func TestAServerThatSendsBookmarksNoMoreIsNotSilent(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		version := func() string { return strconv.Itoa(100 + int(s.now/Second)) }
		return func(e Effect) error {
			if e.Kind == List && e.Request.Verb != VerbStream {
				s.step(Input{Kind: Page, Items: 1, Version: version()})
				s.step(Input{Kind: Ended})
				return nil
			}
			if e.Kind != Watch || e.Request.Verb != VerbWatch {
				s.answer(e)
				return nil
			}
			end := s.now + e.Min + Nanos(s.rand.Int64N(int64(e.Max-e.Min)))
			for s.now+Minute < min(end, Hour) {
				s.now += Minute
				s.step(Input{Kind: Event, Event: Bookmark, Version: version()})
			}
			how := Ended
			if idle := s.m.idle(); idle > 0 && s.now+idle < end {
				end, how = s.now+idle, TimedOut
			}
			s.now = max(s.now, end)
			if silent := s.now - s.m.Contact; s.m.BookmarkInterval() > 0 && silent > s.m.BookmarkInterval()+5*Minute {
				return fmt.Errorf("nothing came for %s, and bookmarks count as coming each %s", duration(silent), duration(s.m.BookmarkInterval()))
			}
			s.step(Input{Kind: how})
			return nil
		}
	})
}

// Each watch brings something, and is silent after a while. The next request fails once.
func TestOneFailureAfterWatchesOfMinutesIsNoRow(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		failure, silent, version := []Failure{refusedByServer, {Class: Expired}}[s.rand.IntN(2)], false, 1000
		return func(e Effect) error {
			switch {
			case e.Kind == Watch && e.Request.Verb == VerbWatch && silent:
				silent = false
				s.step(Input{Kind: Ended, Failure: failure})
				if s.next.Kind == Wait && s.next.Min > s.m.config.BackoffMin {
					return fmt.Errorf("a wait of %s after one failure: %+v", between(s.next), failure)
				}
			case e.Kind == Watch && e.Request.Verb == VerbWatch:
				silent, version = true, version+1
				s.step(Input{Kind: Event, Event: Modified, Version: strconv.Itoa(version)})
				s.now += 3*Minute + Nanos(s.rand.Int64N(int64(10*Minute)))
				s.step(Input{Kind: TimedOut})
			case e.Kind == List && e.Request.Verb != VerbStream:
				s.step(Input{Kind: Page, Items: 1, Version: strconv.Itoa(version)})
				s.step(Input{Kind: Ended})
			default:
				s.answer(e)
			}
			return nil
		}
	})
}

// From the start, or after one good watch, every request fails, each after the same time.
func TestWaitsOfAnOutageDoNotBeginAnew(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		hangs, last := Nanos(s.rand.Int64N(int64(30*Second))), Nanos(0)
		failure := []Failure{refusedByServer, {Class: Transport, Unanswered: true}, {Class: Throttled, RetryAfter: Second}}[s.rand.IntN(3)]
		asked, good := 0, w.chance(2)
		return func(e Effect) error {
			switch {
			case good && s.now < 10*Minute && e.Kind == Watch && e.Request.Verb == VerbWatch:
				s.now += 10 * Minute
				s.step(Input{Kind: Ended})
			case good && s.now < 10*Minute:
				s.answer(e)
			case e.Kind == Wait:
				if asked++; failure.RetryAfter == 0 || asked > askedRetries+1 && e.Min > failure.RetryAfter {
					if e.Min < last {
						return fmt.Errorf("a wait of %s after one of %s; %+v after %s", between(e), duration(last), failure, duration(hangs))
					}
					last = e.Min
				}
				s.answer(e)
			default:
				s.now += hangs
				attempts := s.m.Backoff.Attempts
				s.step(Input{Kind: Ended, Failure: failure})
				if !s.m.last.Once() && s.next.Kind == Wait && s.m.Backoff.Attempts == attempts {
					return fmt.Errorf("a wait of %s doubles nothing, and the source has repeated %+v", between(s.next), s.m.last)
				}
			}
			if s.now > 110*Minute && last < s.m.config.BackoffMax/2 {
				return fmt.Errorf("no wait is longer than %s; %+v after %s", duration(last), failure, duration(hangs))
			}
			return nil
		}
	})
}

// Lists are refused from some time on, and watches are not, of which one is refused.
func TestARoleThatHasLostListWatchesOn(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		lists, refused := 0, false
		return func(e Effect) error {
			switch {
			case e.Kind == Wait || s.now < Minute && e.Kind == List:
				s.answer(e)
			case e.Kind == List && e.Request.Verb != VerbProbe:
				lists++
				s.step(Input{Kind: Ended, Failure: Failure{Class: Forbidden}})
			case s.now > Minute && !refused:
				refused = true
				s.step(Input{Kind: Ended, Failure: refusedByServer})
			default:
				lists = 0
				s.now += 40 * Second
				s.step(Input{Kind: Ended})
			}
			if most := 2 + listAttempts; lists > most || s.now > Hour && lists > 2 {
				return fmt.Errorf("%d lists without a watch", lists)
			}
			return nil
		}
	})
}

// A version has expired, and lists are refused.
func TestNoWatchFollowsFromAVersionThatHasExpired(t *testing.T) {
	each(t, func(s *stuck, w *world) func(Effect) error {
		expired := false
		return func(e Effect) error {
			switch {
			case e.Kind == Wait || !expired && e.Kind == List:
				s.answer(e)
			case !expired:
				expired = true
				s.step(Input{Kind: Ended, Failure: Failure{Class: Expired}})
			case e.Kind == Watch && e.Request.Verb == VerbWatch:
				return fmt.Errorf("a watch from %s", e.Request.Version)
			default:
				s.step(Input{Kind: Ended, Failure: refusedByServer})
			}
			return nil
		}
	})
}

// stuck is a machine whose server never sends one event.
type stuck struct {
	m        *Machine
	rand     *rand.Rand
	now      Nanos
	fake     bool
	failure  Failure
	streamed bool // the failure comes as an Error event
	poison   int  // the version that is never sent; 0 for the one that is next
	noise    EventType
	last     Nanos // how long a watch lasts at most
	next     Effect
	relist   Nanos // the watch under way ends then; 0 for never
	lists    int   // since the last wait
}

func newStuck(seed, i uint64) *stuck {
	w := newWorld(seed, i)
	s := &stuck{m: w.m, rand: w.rand, fake: w.fake, streamed: w.chance(3), last: shortWatch}
	if !w.chance(5) {
		s.failure = w.failure()
		s.failure.RetryAfter = 0
	}
	if s.failure.Malformed || s.failure.Limit {
		// Then the event has come, however late.
		s.last = 4 * Minute
	}
	if w.chance(2) {
		s.poison = 101 + s.rand.IntN(20)
	}
	if w.chance(2) {
		// What the store has, again, before each failure.
		s.noise = []EventType{Modified, Bookmark}[s.rand.IntN(2)]
	}
	return s
}

// server is the server's version. After half an hour nothing is written any more.
func (s *stuck) server() int { return 100 + int(min(s.now, 30*Minute)/(20*Second)) }

func (s *stuck) run() error {
	s.step(Input{Kind: Start})
	for s.now < Hour {
		s.answer(s.next)
		// Two: the one that Expired leads to at once, and the one that follows a stream.
		if s.lists > 2 {
			return fmt.Errorf("%d lists without a wait", s.lists)
		}
	}
	if s.m.Version != strconv.Itoa(s.server()) && s.poison == 0 {
		return fmt.Errorf("the server is at %d, and the store at %s for ever", s.server(), s.m.Version)
	}
	if at, _ := strconv.Atoi(s.m.Version); at < s.poison {
		return fmt.Errorf("the store is at %s for ever", s.m.Version)
	}
	return nil
}

// answer does what e wants.
func (s *stuck) answer(e Effect) {
	switch {
	case e.Kind == Wait:
		s.now += e.Min + Nanos(s.rand.Int64N(int64(e.Max-e.Min)))
		s.lists = 0
		s.step(Input{Kind: Timer})
	case e.Request.Verb == VerbStream:
		s.step(Input{Kind: Ended, Failure: Failure{Class: Invalid, Err: fmt.Errorf("no streams")}})
	case e.Kind == List:
		if e.Request.Verb == VerbList {
			s.lists++
		}
		s.step(Input{Kind: Page, Items: 1, Version: strconv.Itoa(s.server())})
		s.step(Input{Kind: Ended})
	default:
		s.watch(e.Request)
	}
}

func (s *stuck) watch(r Request) {
	from, _ := strconv.Atoi(r.Version)
	if s.noise != 0 {
		s.step(Input{Kind: Event, Event: s.noise, Version: r.Version})
	}
	for v := from + 1; s.poison != 0 && v <= s.server(); v++ {
		if v == s.poison {
			break
		}
		s.step(Input{Kind: Event, Event: Modified, Version: strconv.Itoa(v)})
	}
	s.now += Nanos(s.rand.Int64N(int64(s.last)))
	if s.streamed && s.failure.Class != NoFailure {
		s.step(Input{Kind: Event, Event: Error, Failure: s.failure})
		return
	}
	s.step(Input{Kind: Ended, Failure: s.failure})
}

// step steps, and notes what is to be done next.
func (s *stuck) step(in Input) {
	in.At, in.Fake = s.now, s.fake
	for _, e := range s.m.Step(in) {
		switch e.Kind {
		case List, Watch, Wait:
			s.next, s.relist = e, 0
		case RelistAfter:
			s.relist = s.now + e.Min
		}
	}
}
