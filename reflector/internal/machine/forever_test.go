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

// TestAfterAnOutageAWatchThatIsCutWhileQuietIsFollowedAtOnce lets a server refuse everything for
// a while. Afterwards each of its watches is cut off after the same time, and brings nothing; one in
// three of those that follow is refused. No row of waits is longer than HealthAfter.
func TestAfterAnOutageAWatchThatIsCutWhileQuietIsFollowedAtOnce(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(2000) {
		w := newWorld(seed, i)
		s := &stuck{m: w.m, rand: w.rand, poison: 101}
		cut := 2*s.m.config.BackoffMin + Nanos(s.rand.Int64N(int64(3*Minute)))
		s.last, s.failure = cut, Failure{Class: Transport}
		from, to := Minute, Minute+Nanos(s.rand.Int64N(int64(10*Minute)))
		config, first := s.m.config, Nanos(0) // when the last first wait began
		s.step(Input{Kind: Start})
		for s.now < to+Hour {
			e := s.next
			if e.Kind == Wait && (s.now < to || e.Min == config.BackoffMin || s.m.Backoff.ListFailed) {
				first = max(to, s.now)
			}
			switch {
			case e.Kind == Wait && s.now-first > config.HealthAfter+cut+2*config.BackoffMax:
				t.Fatalf("seed %d, machine %d: watches are cut after %s, and a wait of %s, %s after the first one in its row\nstate %+v", seed, i, duration(cut), between(e), duration(s.now-first), s.m.State)
			case e.Kind != Wait && s.now >= from && s.now < to:
				s.step(Input{Kind: Ended, Failure: Failure{Class: Server, Unanswered: true}})
			case e.Kind == Watch && e.Request.Verb == VerbWatch:
				s.now += cut
				s.step(Input{Kind: Ended, Failure: s.failure})
				if s.next.Kind == Watch && w.chance(3) {
					s.step(Input{Kind: Ended, Failure: Failure{Class: Server, Unanswered: true}})
				} else if s.next.Kind == Wait {
					t.Fatalf("seed %d, machine %d: a watch was cut after %s, at %s, and a wait of %s follows\nstate %+v", seed, i, duration(cut), duration(s.now), between(s.next), s.m.State)
				}
			default:
				s.answer(e)
			}
		}
	}
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
	lists    int // since the last wait
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
			s.next = e
		}
	}
}
