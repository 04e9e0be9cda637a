package machine

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// TestAMillionRandomInputsBreakNoInvariant feeds machines inputs that a server
// might cause, and some that make no sense, and checks after each what must
// hold whatever came before.
func TestAMillionRandomInputsBreakNoInvariant(t *testing.T) {
	seed := testkit.Seed(t)
	const machines, inputs = 4000, 250
	published, epochs, unordered, renumbered, healed, silent := 0, 0, 0, 0, 0, uint64(0)
	probes, older := uint64(0), 0
	lists, ends := ListCounts{}, WatchEndCounts{}
	for i := range uint64(machines) {
		w := newWorld(seed, i)
		for range inputs {
			in := w.invent()
			if err := w.step(in); err != nil {
				t.Fatalf("seed %d, machine %d: %v\nafter %+v\nstate %+v", seed, i, err, in, w.m.State)
			}
		}
		published += int(w.m.Counts.Published)
		epochs += int(w.m.Epoch) - w.followed
		silent += w.m.Counts.SilentWatches
		unordered += w.unordered
		renumbered += w.followed
		healed += w.alarms
		probes += w.m.Counts.Probes
		older += w.older
		for i, n := range w.m.Counts.ListsByCause {
			lists[i] += n
		}
		for i, n := range w.m.Counts.WatchEnds {
			ends[i] += n
		}
	}
	// The test must have been where it matters.
	t.Logf("%d lists published, %d epochs after older lists, %d times without order, %d epochs after that, %d alarms, %d silent watches",
		published, epochs, unordered, renumbered, healed, silent)
	t.Logf("%d probes, %d of which found an older server", probes, older)
	for i, n := range lists {
		t.Logf("%d lists, cause %v", n, ListCause(i))
		if n == 0 {
			t.Error("no list of that cause")
		}
	}
	for i, n := range ends {
		t.Logf("%d watches ended: %v", n, WatchEnd(i))
		if n == 0 {
			t.Error("no watch ended so")
		}
	}
	if probes == 0 || older == 0 || published < machines || epochs == 0 || unordered == 0 || renumbered == 0 || healed == 0 || silent == 0 {
		t.Error("the random inputs did not reach all that they should")
	}
}

// world is a machine, who feeds it, and what a driver would know.
type world struct {
	m      *Machine
	rand   *rand.Rand
	now    Nanos
	server int // the server's version
	strict bool
	fake   bool

	waiting   bool // a wait is under way
	requested bool // a request is
	staged    bool
	started   bool
	hasty     int   // requests since anything moved
	relistIn  Nanos // the least wait of the last RelistAfter
	alarms    int
	older     int // probes answered with an older version
	// unordered counts how often the machine became so, and followed how often
	// it then followed a server that numbers anew.
	unordered, followed int
	tally               tally
}

func newWorld(seed, i uint64) *world {
	r := rand.New(rand.NewPCG(seed, i))
	config := testConfig()
	config.WatchList = r.IntN(3) > 0
	config.AlwaysPage = r.IntN(4) == 0
	// A strict world has no nonsense in it, so that more of it goes well.
	return &world{m: New(config), rand: r, server: 1000, strict: r.IntN(2) == 0, fake: r.IntN(4) == 0}
}

func (w *world) chance(n int) bool { return w.rand.IntN(n) == 0 }

// version invents one: mostly the server's, once in old times an old one, or
// none.
func (w *world) version(old int) string {
	switch {
	case w.chance(old):
		return strconv.Itoa(max(1, w.server-w.rand.IntN(50)))
	case !w.strict && w.chance(20):
		return ""
	case !w.strict && w.chance(20):
		return fmt.Sprintf("x%d", w.rand.IntN(5))
	}
	w.server += w.rand.IntN(4)
	if w.chance(200) {
		w.server = max(100, w.server-200) // restored
	}
	return strconv.Itoa(w.server)
}

func (w *world) failure() Failure {
	class := Class(1 + w.rand.IntN(int(Other)))
	f := Failure{Class: class, Err: fmt.Errorf("%v", class)}
	if class == Transport {
		f.Malformed, f.Limit = w.chance(3), w.chance(3)
	}
	f.Unanswered = class == Transport && w.chance(2)
	f.Unreachable = f.Unanswered && w.chance(2)
	if w.chance(4) {
		f.RetryAfter = Nanos(w.rand.Int64N(int64(Hour)))
	}
	return f
}

// invent makes up the next input.
func (w *world) invent() Input {
	if w.chance(3) {
		w.now += Nanos(w.rand.Int64N(int64(3 * Minute)))
	}
	if !w.started {
		w.started = true
		return Input{Kind: Start, At: w.now}
	}
	in := Input{At: w.now, Fake: w.fake}
	if !w.strict && w.chance(10) {
		in.Kind = InputKind(1 + w.rand.IntN(int(Timer)))
		if w.chance(50) {
			in.Kind = Differs
		}
	} else {
		in.Kind = w.fitting()
	}
	if w.m.Refusals > 0 && w.m.Request.Verb == VerbWatch && w.chance(4) {
		// Who refuses once does so again.
		in.Kind, in.Failure = Ended, Failure{Class: Invalid, Err: fmt.Errorf("refused again")}
		return in
	}
	switch in.Kind {
	case TimedOut:
		in.Failure.Unanswered = w.chance(2)
		if w.chance(2) {
			w.now += w.m.Cadence.idleTimeout()
			in.At = w.now
		}
	case Page:
		in.Version, in.Items = w.m.List.Version, w.rand.Int64N(5)
		if w.m.Request.Verb == VerbProbe && !w.chance(10) {
			in.Items = 1
		}
		if in.Version == "" || w.chance(20) {
			in.Version = w.version(8)
		}
		in.More = w.chance(3)
		if w.chance(3) {
			in.Continue = strconv.Itoa(w.rand.IntN(100))
		}
		in.Unreadable = int64(w.rand.IntN(20) / 19)
	case Event:
		in.Event = EventType(1 + w.rand.IntN(int(Bookmark)))
		if w.chance(15) {
			in.Event = EventType(1 + w.rand.IntN(int(Unknown)))
		}
		// In a strict world a watch seldom contradicts itself, so that lists are
		// compared with what it said.
		in.Version = w.version(30)
		if w.strict && w.m.Phase == Watching {
			in.Version = w.version(300)
		}
		in.InitialEventsEnd = w.m.Phase == Streaming && !w.chance(5)
		in.Unreadable = int64(w.rand.IntN(40) / 39)
		if in.Event == Error || in.Event == Unknown {
			in.Failure = w.failure()
		}
	case Ended:
		if w.chance(2) {
			in.Failure = w.failure()
		}
	case Differs:
		in.Failure = Failure{Class: Protocol, Err: fmt.Errorf("differs")}
		in.Cause = []ListCause{CauseConsistency, CauseRequested}[w.rand.IntN(2)]
	}
	return in
}

// fitting is a kind of input that the driver could have.
func (w *world) fitting() InputKind {
	switch {
	case w.m.Phase == Stopped:
		return Start
	case w.chance(200):
		return Stop
	case w.waiting:
		return Timer
	case w.chance(40):
		return TimedOut
	case w.m.Heal.Scheduled && w.chance(5):
		return RelistDue
	case w.m.Phase == Watching && w.chance(1000):
		return Differs
	case w.chance(5):
		return Ended
	case w.m.Phase == Listing && w.m.List.Complete:
		return Ended
	case w.m.Phase == Listing:
		return Page
	case w.m.Request.Verb == VerbProbe && w.m.Probe.Answered:
		return Ended
	case w.m.Request.Verb == VerbProbe:
		return Page
	}
	return Event
}

// step steps, and says what is wrong.
func (w *world) step(in Input) error {
	before := w.m.State
	effects := w.m.Step(in)
	after := &w.m.State
	if w.requested && (in.Kind == Ended || in.Kind == TimedOut ||
		(in.Kind == RelistDue || in.Kind == Differs) && before.Phase == Watching) {
		w.requested = false
	}
	if in.Kind == Timer || in.Kind == Stop {
		w.waiting = false
	}
	if in.Kind == RelistDue {
		w.alarms++
	}
	if after.Unordered && !before.Unordered {
		w.unordered++
	}
	if before.Request.Verb == VerbProbe && after.Phase != Watching && after.Older > before.Older {
		w.older++
	}
	if before.Renumbered && after.Epoch > before.Epoch {
		w.followed++
	}
	if in.Kind == Differs {
		w.hasty = 0 // whoever compares makes no haste
	}
	if in.Kind == RelistDue && w.relistIn >= shortWatch {
		w.hasty = 0 // the driver has waited for it, which this world does not
	}
	if in.At >= before.RequestAt+shortWatch || in.Kind == Page || in.Kind == Timer {
		w.hasty = 0
	}
	for _, e := range effects {
		if err := w.check(&before, in, e); err != nil {
			return fmt.Errorf("%w (%s)", err, sentence(e))
		}
	}
	switch after.Phase {
	case Starting, Stopped:
	case BackingOff:
		if !w.waiting || w.requested {
			return fmt.Errorf("backing off without a wait, or with a request")
		}
	default:
		if w.waiting && in.Kind != Timer || !w.requested {
			return fmt.Errorf("%v without a request, or with a wait", after.Phase)
		}
	}
	if (after.Request.Verb != NoRequest) != w.requested {
		return fmt.Errorf("the request noted is not the one under way")
	}
	if after.List.Staged != w.staged {
		return fmt.Errorf("staged is %v, noted %v", w.staged, after.List.Staged)
	}
	if after.List != (Progress{}) && after.Phase != Listing && after.Phase != Streaming {
		return fmt.Errorf("a list under way in %v", after.Phase)
	}
	if after.Epoch == before.Epoch && !before.Unordered && !after.Unordered && before.Renumbered == after.Renumbered {
		if order, ok := resourceversion.Compare(after.Version, before.Version); ok && order < 0 {
			return fmt.Errorf("version went from %s to %s", before.Version, after.Version)
		}
	}
	if after.Heal.Scheduled && after.Phase != Watching {
		return fmt.Errorf("armed in %v", after.Phase)
	}
	if (after.Degraded() || after.Missed) && after.Request.Verb == VerbWatch && !after.Heal.Scheduled {
		return fmt.Errorf("a list is due, and nothing arranged")
	}
	if err := inOrder(&before, in, after, effects); err != nil {
		return err
	}
	if after.Counts.SilentWatches > before.Counts.SilentWatches {
		if in.Kind != TimedOut || before.Cadence.Intervals < cadenceLearned || in.At-before.Cadence.Heard < minIdleTimeout {
			return fmt.Errorf("a watch taken for silent after %v", in.At-before.Cadence.Heard)
		}
		due := after.Renumbered || before.missed()
		if !due && (after.Phase != Watching || after.Request.Version != before.Version && after.Request.Verb != VerbProbe) ||
			due && after.Phase == Watching {
			return fmt.Errorf("after a silent watch at %s: %v %+v", before.Version, after.Phase, after.Request)
		}
	}
	if err := w.inDoubt(&before, in, effects); err != nil {
		return err
	}
	if err := w.tally.check(&before, in, after, effects); err != nil {
		return err
	}
	if err := w.moved(&before, after); err != nil {
		return err
	}
	if w.hasty > 8 {
		return fmt.Errorf("%d requests without anything moving", w.hasty)
	}
	return relistReason(&before, in, after)
}
