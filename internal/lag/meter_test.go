package lag

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

// at is a point in time, in seconds after the start of a test.
func at(seconds float64) time.Time {
	return time.Unix(1_000_000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

func want(t *testing.T, m *Meter, now float64, known bool, lag float64) {
	t.Helper()
	r := m.Lag(at(now))
	if r.Known != known || r.Lag != time.Duration(lag*float64(time.Second)) {
		t.Fatalf("after %v s: got known %v, lag %v (%s); want known %v, lag %v s", now, r.Known, r.Lag, r.Why, known, lag)
	}
	if !r.Known && r.Why == "" {
		t.Fatal("an unknown lag has to say why")
	}
}

func TestLagIsUnknownBeforeTheStoreHasAListOrTheServerAnAnswer(t *testing.T) {
	var m Meter
	want(t, &m, 0, false, 0)
	m.Asked("5", at(0))
	want(t, &m, 1, false, 0)
	m.Stored("5", at(2))
	want(t, &m, 2, true, 0)

	var n Meter
	n.Stored("5", at(0))
	want(t, &n, 1, false, 0)
}

func TestLagIsZeroOnceTheStoreReachesTheAnswer(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("12", at(1))
	m.Found("11")
	want(t, &m, 4, true, 3)
	m.Delivered("11", at(4))
	want(t, &m, 5, true, 4)
	m.Delivered("12", at(6))
	want(t, &m, 6, true, 0)
	if m.Worst() != 5*time.Second {
		t.Fatalf("worst lag is %v, want the 5 s until version 12 arrived", m.Worst())
	}
}

func TestLagCountsFromTheOldestAnswerThatTheStoreHasNotReached(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("20", at(1))
	m.Asked("30", at(3))
	m.Found("15")
	want(t, &m, 10, true, 9)
	m.Stored("20", at(11))
	m.Found("21")
	want(t, &m, 11, true, 8)
	m.Stored("31", at(12))
	want(t, &m, 12, true, 0)
}

func TestAQuietCollectionIsNotBehindBecauseOthersAreWritten(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	for i := range 100 {
		now := float64(i) * 2
		m.Asked(strconv.Itoa(1000+i), at(now))
		want(t, &m, now+1, true, 0)
		if from, ok := m.Doubt(at(now + 1)); !ok || from != "10" {
			t.Fatalf("round %d: an answer the store has not reached within a second must be doubted", i)
		}
		m.Nothing(strconv.Itoa(1000 + i))
	}
	if m.Worst() != 0 {
		t.Fatalf("worst lag is %v of a store that was never behind", m.Worst())
	}
}

func TestAChangeNewerThanTheAnswerDoesNotProveTheAnswerMissing(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("20", at(1))
	m.Found("21") // made after the question was answered
	want(t, &m, 9, true, 0)
}

func TestAnAnswerThatCannotBeProvenCountsAfterAWhile(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("20", at(1))
	want(t, &m, 6.5, true, 0)
	want(t, &m, 7, true, 6)
}

func TestALiveChangeShowsHowLateItWas(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("20", at(1))
	m.Delivered("20", at(1.25))
	want(t, &m, 1.25, true, 0)
	if m.Worst() != 250*time.Millisecond {
		t.Fatalf("worst lag is %v, want 250ms", m.Worst())
	}
}

func TestABookmarkIsNoProofOfLag(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("20", at(1))
	m.Stored("20", at(3))
	if m.Worst() != 0 {
		t.Fatalf("worst lag is %v, but nothing was missing", m.Worst())
	}
}

func TestVersionsThatCannotBeComparedMakeLagUnknown(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("v1-opaque", at(1))
	want(t, &m, 2, false, 0)
}

func TestAServerThatStoppedAnsweringLeavesLagUnknown(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("10", at(1))
	want(t, &m, 3, true, 0)
	want(t, &m, 30, false, 0)
}

func TestWhatIsKnownToBeMissingStaysMissingWhileTheServerIsSilent(t *testing.T) {
	var m Meter
	m.Stored("10", at(0))
	m.Asked("20", at(1))
	want(t, &m, 30, false, 0) // no proof, so who knows
	m.Found("15")
	want(t, &m, 31, true, 30)
}

func TestARestoredServerForgetsOldAnswers(t *testing.T) {
	var m Meter
	m.Stored("100", at(0))
	m.Asked("120", at(1))
	m.Asked("50", at(2))
	want(t, &m, 20, false, 0)
	m.Asked("50", at(20))
	want(t, &m, 21, true, 0)
}

// The naive twin knows everything: which versions are the collection's own,
// when each was made, and which ones the store has.
func TestReadingsAreNeverTooHighWhateverTheOrderOfAnswersAndEvents(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		type write struct {
			version int
			at      time.Time
		}
		var (
			m      Meter
			ours   []write // not yet in the store
			global = 100
			stored = 100
			now    = at(0)
			worst  time.Duration
			oldest = func() time.Duration {
				if len(ours) == 0 {
					return 0
				}
				return now.Sub(ours[0].at)
			}
		)
		m.Stored("100", now)
		for range 200 {
			now = now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
			worst = max(worst, oldest())
			switch r.IntN(5) {
			case 0: // somebody writes to another collection
				global++
			case 1: // to ours
				global++
				ours = append(ours, write{global, now})
			case 2: // the server is asked, and answers at once
				m.Asked(strconv.Itoa(global), now)
			case 3: // the store receives some
				for n := r.IntN(3); n > 0 && len(ours) > 0; n-- {
					stored = ours[0].version
					ours = ours[1:]
					m.Delivered(strconv.Itoa(stored), now)
				}
			case 4: // proof
				from, ok := m.Doubt(now)
				if !ok {
					continue
				}
				if from != strconv.Itoa(stored) {
					t.Fatalf("doubts from version %s, the store has %d", from, stored)
				}
				if len(ours) > 0 {
					m.Found(strconv.Itoa(ours[0].version))
				} else {
					m.Nothing(strconv.Itoa(global))
				}
			}
			// A reading may rest on no proof, for want of one or until the
			// next: then the store may be level. With proof it may not.
			got := m.Lag(now)
			if m.missing != "" && got.Lag > oldest() {
				t.Fatalf("reads %v, the oldest change missing is %v old", got.Lag, oldest())
			}
			if m.missing == "" && got.Lag > 0 {
				if from, ok := m.Doubt(now); !ok || from != strconv.Itoa(stored) {
					t.Fatalf("reads %v without proof and asks for none", got.Lag)
				}
			}
			if m.Worst() > worst {
				t.Fatalf("worst is %v, the oldest change ever missing was %v old", m.Worst(), worst)
			}
		}
	}
}
