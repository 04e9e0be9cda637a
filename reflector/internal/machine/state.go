package machine

import "github.com/kinglet-go/kinglet/reflector/resourceversion"

// Phase is where a machine is.
type Phase uint8

// The phases; package reflector documents them.
const (
	Starting Phase = iota
	Listing
	Streaming
	Watching
	BackingOff
	Stopped
)

var phaseNames = [...]string{"Starting", "Listing", "Streaming", "Watching", "BackingOff", "Stopped"}

// String returns the phase's name.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "Unknown"
}

// Verb is the kind of a request.
type Verb uint8

const (
	// NoRequest: nothing is under way.
	NoRequest Verb = iota
	// VerbList is a LIST.
	VerbList
	// VerbStream is a WATCH that begins with the state as events.
	VerbStream
	// VerbWatch is a WATCH.
	VerbWatch
	// VerbProbe is a LIST of one object, for the server's version.
	VerbProbe
)

var verbNames = [...]string{"none", "list", "watch-list", "watch", "probe"}

// String returns "list", "watch-list", "watch" or "probe".
func (v Verb) String() string { return verbNames[v] }

// Request is what is asked of the server.
type Request struct {
	Verb    Verb
	Version string
	// NotOlderThan, Continue and Limit are of a list.
	NotOlderThan bool
	Continue     string
	Limit        int64
}

// Once reports whether the request is sent once, so that Status shows a refusal at once and the
// machine waits as long as the server asks. The source repeats a later page, since a failure would
// cost the pages before it. It also repeats a list from a version, since a server that lags asks to
// come back in a second. Neither waits for long.
func (r *Request) Once() bool {
	return r.Verb != VerbList || r.Continue == "" && (r.Version == "" || r.Version == "0")
}

// Streamability is what is known about the server's streaming of initial
// events.
type Streamability uint8

const (
	// Untried: streaming is tried first. It was never tried, or worked before.
	Untried Streamability = iota
	// Refused: the server does not support it. This stands until the resource has
	// been gone in between, since another server may serve it then, or there are no lists.
	Refused
	// Withheld: streaming made no progress. It is tried again after
	// streamRetryAfter.
	Withheld
)

// Progress is how far the list under way has come.
type Progress struct {
	// Consistent is whether it was requested with resource version "". An older
	// answer then means more than a server that lags.
	Consistent bool
	// Version is the list's, once known.
	Version string
	// Continue is where the next request goes on.
	Continue string
	// Complete is whether the response under way sent its last page.
	Complete bool
	// Staged is whether the driver holds anything staged.
	// Invariant: false outside of Listing and Streaming.
	Staged bool
	// Received is the number of objects so far, Remaining the server's
	// estimate of what is to come.
	Received, Remaining int64
	// Unreadable is how many of them have no readable identity.
	Unreadable int64
	// At is when the last of them came.
	At Nanos
}

// State is everything that a machine knows. It holds no pointers into the
// machine, so that a copy is a snapshot.
type State struct {
	Phase Phase
	// Since is when the phase was entered.
	Since Nanos

	// Synced is whether a list was published.
	Synced bool
	// Version is the version of the sink's state: the list's, then that of the
	// event that arrived last. Before the first list it is Config.Held.
	// Invariant: within an epoch it decreases only with the event that makes
	// versions Renumbered, and while they are Unordered.
	Version string
	// Listed is the version of the last list that was published.
	Listed string
	// Epoch counts the times that the server was found to be restored.
	Epoch uint64
	// Unordered is whether versions have no order until the next list, because an
	// event was older than the one before it. That list is not compared with
	// Version.
	Unordered bool
	// Renumbered is whether the first event that moved the version on a resumed
	// watch was older, so that the server may have lost objects as well as
	// versions. A list follows that watch and begins a new epoch. Versions after
	// that event count as an order, unless Unordered.
	Renumbered bool

	// Doubtful is whether the first event on the watch that directly follows its list
	// was older than that list. Either versions have no order, or the server restarted
	// between the two requests and has lost objects. A probe tells when the watch ends.
	// Invariant: it implies Degraded and Unordered.
	Doubtful bool
	// Doubts counts how often that happened.
	Doubts int

	// Request is the one under way.
	// Invariant: Verb is NoRequest exactly in Starting, BackingOff, Stopped.
	Request Request
	// RequestAt is when it was sent.
	RequestAt Nanos
	// Advanced is whether the request is past the version that it began at, so
	// that a new one from the present version would not repeat it.
	Advanced bool
	// Resumed is whether the watch under way does not directly follow the list.
	Resumed bool
	// Synthetic is whether the watch under way began at no version, and has only
	// sent objects that may have existed before, in no particular order.
	Synthetic bool

	// List is about the list under way, and zero otherwise.
	List Progress
	// Cause is why the list under way, or due, was requested; if there is none,
	// why the last one was.
	Cause ListCause
	// Relist is whether the wait under way leads to a list, not a watch; when
	// stopped, whether a new start begins with a list.
	// Invariant: false while Watching.
	Relist bool

	// Optional is whether the list under way, or due, only follows refused watches.
	// If it fails as well, the server is away, and a watch may be answered first.
	Optional bool

	// Fake is whether the source may be a fake. Bookmarks is whether it has sent a bookmark:
	// a server that does also sends on a watch what happened before it.
	Fake, Bookmarks bool

	// Missed is whether the next watch, or the one under way, may lack what happened before
	// it: the source may have no history, or lists were refused again and again. A list
	// follows that watch.
	Missed bool

	// VersionGone is whether the next list must not ask for Version.
	VersionGone bool
	// Unpaged is whether the next list must come in one piece, because its pages
	// were not available at one version.
	Unpaged bool
	// Paginated is whether the server pages even a request for any version. It
	// then has no cache that an unpaged request could use.
	Paginated bool
	// Older counts lists and probes in a row that were older than the store,
	// OlderConsistent those of the lists that were consistent.
	Older, OlderConsistent int
	// ListStalls counts lists in a row that were given up.
	ListStalls int

	// Streamability and StreamFailedAt say whether streaming is tried.
	Streamability  Streamability
	StreamFailedAt Nanos
	// Unlisted is whether the server has no lists, or sends such as cannot be read.
	Unlisted bool
	// Paged is whether the next list is fetched page by page, because a stream just
	// failed.
	Paged bool
	// Truncations counts streams since the last list that ended before their end, or whose
	// connection was refused.
	Truncations int

	// Refusals counts watches that were refused since one was open; RefusedSince is
	// when the first of them was.
	Refusals     int
	RefusedSince Nanos
	// Polling is whether lists are answered and watches are not.
	Polling bool

	// Contact is when the server last sent a page, or an event that was not an
	// error, or ended a watch as it should.
	Contact Nanos
	// LastEvent is when the last event came that was neither a bookmark nor an
	// error; 0 if none did.
	LastEvent Nanos

	Backoff Backoff
	Heal    Heal
	Cadence Cadence
	Probe   Probe

	// Failure is the last one; zero once healthy again. FailingSince is the time
	// of the first failure since the last success.
	Failure      Failure
	FailingSince Nanos
	Recent       Recent
	Counts       Counts
}

// Machine steps from state to state. Create one with New.
type Machine struct {
	State
	config Config
	now    Nanos
	// last is the request that was under way last.
	last    Request
	effects []Effect
	// why is what failed in this step, and transitions are the changes of phase
	// that the driver has not fetched.
	why         Failure
	transitions []Transition
}

// New returns a machine that has not started.
func New(config Config) *Machine {
	return &Machine{config: config, State: State{Version: config.Held}}
}

// Step handles one input and returns the effects to carry out, in order. The slice
// is valid until the next Step. An input that does not fit the state has no
// effect.
func (m *Machine) Step(in Input) []Effect {
	m.effects = m.effects[:0]
	if m.Phase == Stopped && in.Kind != Start {
		return nil
	}
	m.now = max(m.now, in.At)
	m.why = in.Failure
	if in.Kind == Page || in.Kind == Event && in.Event != Error {
		m.Contact = m.now
	}
	if in.Kind == Ended || in.Kind == Event && in.Event == Error {
		m.Fake = in.Fake
	}
	switch in.Kind {
	case Start:
		switch m.Phase {
		case Starting:
			m.because(CauseStart)
			m.sync()
		case Stopped:
			m.resume()
		}
	case Page:
		switch {
		case m.Phase == Listing:
			m.page(&in)
		case m.Request.Verb == VerbProbe:
			m.probePage(&in)
		}
	case Event:
		switch m.Request.Verb {
		case VerbStream:
			m.initial(&in)
		case VerbWatch:
			m.live(&in)
		}
	case Ended:
		m.ended(in.Failure)
	case TimedOut:
		m.timedOut(in.Failure.Unanswered)
	case RelistDue:
		if m.Phase == Watching {
			m.watchOver(EndStopped)
			m.over()
			m.relistDue()
		}
	case Differs:
		if m.Phase == Watching {
			m.watchOver(EndStopped)
			m.over()
			m.differs(in.Failure, in.Cause)
		}
	case Timer:
		if m.Phase == BackingOff {
			m.resume()
		}
	case Stop:
		m.stop()
	}
	return m.effects
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

// enter changes the phase.
func (m *Machine) enter(p Phase) {
	if m.Phase == p {
		return
	}
	m.transitions = append(m.transitions, Transition{At: m.now, From: m.Phase, To: p, Failure: m.completed(m.why)})
	m.Phase, m.Since = p, m.now
}

// Transition is a change of phase.
type Transition struct {
	At       Nanos
	From, To Phase
	// Failure is why, if something failed; Class is NoFailure otherwise.
	Failure Failure
}

// Transitions returns the changes of phase since the last call, in order. The
// slice is valid until the next Step.
func (m *Machine) Transitions() []Transition {
	t := m.transitions
	m.transitions = m.transitions[:0]
	return t
}

// request records what is under way from now on.
func (m *Machine) request(r Request) {
	m.Request, m.RequestAt, m.Advanced = r, m.now, false
	m.Heal.Scheduled = false
}

// over records that nothing is under way any more.
func (m *Machine) over() {
	m.last, m.Request = m.Request, Request{}
	m.Heal.Scheduled = false
}

// leave gives up what is under way: the request, and what is staged.
func (m *Machine) leave() {
	if m.Request.Verb != NoRequest {
		m.emit(Effect{Kind: Abandon})
		m.over()
	}
	if m.List.Staged {
		m.emit(Effect{Kind: Discard})
	}
	m.List = Progress{}
}

// age returns how long the request under way has lasted.
func (m *Machine) age() Nanos { return m.now - m.RequestAt }

// compare orders two versions, if there is an order.
func (m *Machine) compare(a, b string) (order int, ok bool) {
	if m.Unordered {
		return 0, false
	}
	return resourceversion.Compare(a, b)
}

// healthy forgets the last failure: a watch is open.
func (m *Machine) healthy() {
	m.Refusals, m.Polling = 0, false
	m.recovered()
}

// recovered forgets the last failure, unless it stands between lists, or a list is still due.
func (m *Machine) recovered() {
	if m.Failure.Class != NoFailure && !m.Polling && !m.Missed {
		m.Failure = Failure{}
	}
}

// ended handles the end of the request under way.
func (m *Machine) ended(f Failure) {
	if m.Request.Verb == NoRequest {
		return
	}
	m.watchOver(f.end())
	m.over()
	good := f.Class == NoFailure
	switch {
	case m.Phase == Listing && good:
		m.listEnded()
	case m.Phase == Listing:
		m.listFailed(f)
	case m.Phase == Streaming && good:
		m.initialEnded()
	case m.Phase == Streaming:
		m.initialFailed(f)
	case m.last.Verb == VerbProbe && good:
		m.probeEnded()
	case m.last.Verb == VerbProbe:
		m.probeFailed(f)
	case good:
		m.watchEnded()
	default:
		f.Answered = f.Class == Transport && !f.Unanswered && !m.Fake
		m.watchFailed(f)
	}
}

// timedOut handles a request on which nothing came for too long; unanswered is whether it was not
// even answered.
func (m *Machine) timedOut(unanswered bool) {
	if m.Request.Verb == NoRequest {
		return
	}
	m.watchOver(EndSilent)
	m.over()
	switch m.Phase {
	case Listing:
		m.ListStalls = min(m.ListStalls+1, maxListStalls)
		m.listFailed(Failure{Class: Protocol, Err: Stalled})
	case Streaming:
		m.withhold(Stalled)
	case Watching:
		if m.last.Verb == VerbProbe {
			m.probeFailed(Failure{Class: Transport, Err: Stalled})
			return
		}
		if unanswered {
			relist := m.missed() && !m.Renumbered
			if relist {
				m.Cause, m.Polling = CauseRefused, true // the list will not say that all is well
			}
			m.Missed = m.Missed || !m.hasHistory()
			m.wait(Failure{Class: Transport, Err: Stalled}, relist)
			return
		}
		// The server should have sent a bookmark, or ended this watch. How long
		// the connection has been dead is unknown, but it was answered.
		m.idleWatchEnded()
		m.healthy()
		m.resume()
	}
}

// stop ends everything, and records where a new start continues.
func (m *Machine) stop() {
	if m.Phase != BackingOff {
		m.Relist = m.Phase != Watching
	}
	m.watchOver(EndStopped)
	m.leave()
	m.enter(Stopped)
	m.emit(Effect{Kind: End})
}

// resume goes on after a wait, a stop, or the end of a watch.
func (m *Machine) resume() {
	switch {
	case m.Relist:
	case m.Renumbered:
		m.Cause, m.why = CauseRestored, m.Heal.Cause
	case m.missed() && m.Phase != BackingOff && m.untilList() == 0:
		m.Cause = CauseRefused
	default:
		m.Missed = m.Missed || m.missed() && m.Phase != BackingOff // the list keeps its distance, and follows this watch
		m.rewatch()
		return
	}
	m.sync()
}
