package machine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// TestThePaceIsTheLongestOfTheLastIntervals compares what a machine learns with
// a twin that remembers every interval.
func TestThePaceIsTheLongestOfTheLastIntervals(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		m := New(testConfig())
		now := Nanos(0)
		step := func(in Input) {
			in.At = now
			m.Step(in)
		}
		m.config.WatchList = false
		step(Input{Kind: Start})
		step(Input{Kind: Page, Version: "5"})
		step(Input{Kind: Ended})
		var twin []Nanos
		begun := now // of the interval under way
		for range 100 {
			// Now and then in a burst.
			now += Nanos(r.Int64N(2) * r.Int64N(int64(90*Second)))
			switch r.IntN(5) {
			case 0:
				step(Input{Kind: Event, Event: Modified, Version: "5"})
				continue
			case 1:
				// Another watch: what was begun is no interval.
				step(Input{Kind: Ended})
				if m.Phase == BackingOff { // it was too short
					step(Input{Kind: Timer})
				}
				if m.Phase == Listing { // as the one before
					step(Input{Kind: Page, Version: "5"})
					step(Input{Kind: Ended})
				}
				confirm(m, now)
				begun = now
			default:
				step(Input{Kind: Event, Event: Bookmark, Version: "5"})
				if now-begun >= minInterval {
					twin = append(twin, now-begun)
					begun = now
				}
			}
			want := Nanos(0)
			if len(twin) >= cadenceLearned {
				// The last full stretch, and what came since.
				from := max(0, (len(twin)-1)/cadenceMemory-1) * cadenceMemory
				want = slices.Max(twin[from:])
			}
			if got := m.Cadence.Interval(); got != want {
				t.Fatalf("after %d intervals: %v, want %v", len(twin), got, want)
			}
		}
		if m.Counts.SilentWatches != 0 {
			t.Fatal("a watch was taken for silent")
		}
	}
}

// TestOnlyWhatWasMissedShowsThatAWatchWasDead steps through what may follow a
// silent watch.
func TestOnlyWhatWasMissedShowsThatAWatchWasDead(t *testing.T) {
	for _, tc := range []struct {
		name  string
		event Input
		after Nanos
		want  Nanos // how long it may be silent from then on
	}{
		{"a change at once", Input{Event: Modified, Version: "9"}, proofWithin, 3 * Minute},
		{"a change too late", Input{Event: Modified, Version: "9"}, proofWithin + 1, 9 * Minute},
		{"a bookmark at once", Input{Event: Bookmark, Version: "9"}, 0, 9 * Minute},
		{"the last change once more", Input{Event: Modified, Version: "5"}, 0, 9 * Minute},
		{"an older one", Input{Event: Modified, Version: "4"}, 0, 3 * Minute},
		{"one that cannot be told", Input{Event: Unknown, Failure: Failure{Class: Protocol, Err: Unreadable}}, 0, 9 * Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := New(testConfig())
			now := Nanos(0)
			step := func(in Input, passed Nanos) {
				now += passed
				in.At = now
				m.Step(in)
			}
			m.config.WatchList = false
			step(Input{Kind: Start}, 0)
			step(Input{Kind: Page, Version: "5"}, 0)
			step(Input{Kind: Ended}, 0)
			for range cadenceLearned {
				step(Input{Kind: Event, Event: Bookmark, Version: "5"}, Minute)
			}
			step(Input{Kind: TimedOut}, 3*Minute)
			confirm(m, now)
			if m.Counts.SilentWatches != 1 || m.Phase != Watching {
				t.Fatalf("%+v", m.State)
			}
			tc.event.Kind = Event
			step(tc.event, tc.after)
			if got := m.Cadence.idleTimeout(); got != tc.want {
				t.Errorf("may be silent for %v, want %v", got, tc.want)
			}
		})
	}
}

// confirm answers the probe that is under way, if one is, with the store's
// version.
func confirm(m *Machine, now Nanos) {
	if m.Request.Verb == VerbProbe {
		m.Step(Input{Kind: Page, At: now, Version: m.Version, Items: 1})
		m.Step(Input{Kind: Ended, At: now})
	}
}
