package machine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestTheProtocolIsAsTheTranscriptsSay replays testdata, one file a condition.
// Rewrite the files with
//
//	go test ./reflector/internal/machine -run Transcripts -rewrite
//
// and review the difference as text.
func TestTheProtocolIsAsTheTranscriptsSay(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var m *Machine
		var at Nanos
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "machine" {
				config := testConfig()
				config.WatchList = !d.HasArg("no-watch-list")
				config.AlwaysPage = d.HasArg("always-page")
				var patience string
				if d.MaybeScanArgs(t, "patience", &patience) {
					config.RefusalPatience = nanos(t, patience)
				}
				m, at = New(config), 0
				m.Bookmarks = !d.HasArg("no-bookmarks")
				return ""
			}
			var after string
			if d.MaybeScanArgs(t, "after", &after) {
				at += nanos(t, after)
			}
			in := parseInput(t, d)
			in.At = at
			var b strings.Builder
			before := m.Counts
			for _, e := range m.Step(in) {
				fmt.Fprintln(&b, sentence(e))
			}
			if counted := counted(&before, &m.Counts); counted != "" {
				fmt.Fprintln(&b, "count", counted)
			}
			fmt.Fprintln(&b, "=", portrait(&m.State))
			return b.String()
		})
	})
}

// testConfig has the defaults of package reflector.
func testConfig() Config {
	return Config{
		WatchList:             true,
		PageSize:              500,
		BackoffMin:            800 * Millisecond,
		BackoffMax:            30 * Second,
		HealthAfter:           2 * Minute,
		InitialEventsProgress: 10 * Second,
		ListProgress:          10 * Minute,
		WatchTimeoutMin:       5 * Minute,
		WatchTimeoutMax:       10 * Minute,
	}
}

func nanos(t *testing.T, s string) Nanos {
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return Nanos(d)
}

var inputKinds = map[string]InputKind{"start": Start, "page": Page, "end": Ended, "timed-out": TimedOut,
	"relist-due": RelistDue, "timer": Timer, "stop": Stop,
	"differs": Differs}

var eventTypes = map[string]EventType{"added": Added, "modified": Modified, "deleted": Deleted,
	"bookmark": Bookmark, "error": Error, "unknown": Unknown}

func parseInput(t *testing.T, d *datadriven.TestData) Input {
	in := Input{Kind: inputKinds[d.Cmd]}
	if event, ok := eventTypes[d.Cmd]; ok {
		in.Kind, in.Event = Event, event
	}
	if in.Kind == 0 {
		d.Fatalf(t, "unknown input %q", d.Cmd)
	}
	for _, arg := range d.CmdArgs {
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		switch arg.Key {
		case "after":
		case "version":
			in.Version = value
		case "items":
			in.Items = number(d, t, value)
		case "remaining":
			in.Remaining = number(d, t, value)
		case "continue":
			in.Continue = value
		case "more":
			in.More = true
		case "initial-events-end":
			in.InitialEventsEnd = true
		case "unreadable":
			in.Unreadable = 1
			in.Failure = Failure{Class: Protocol, Err: Unreadable}
		case "consistency":
			in.Cause = CauseConsistency
		case "requested":
			in.Cause = CauseRequested
		case "malformed":
			in.Failure = Failure{Class: Transport, Malformed: true, Err: errors.New("malformed")}
		case "limit":
			in.Failure = Failure{Class: Transport, Limit: true, Err: errors.New("limit")}
		case "unanswered":
			in.Failure.Unanswered = true
		case "unreachable":
			in.Failure.Unanswered, in.Failure.Unreachable = true, true
		case "fake":
			in.Fake = true
		case "retry-after":
			in.Failure.RetryAfter = nanos(t, value)
		default:
			class := slices.Index(classNames[:], arg.Key)
			if class < 0 {
				d.Fatalf(t, "unknown argument %q", arg.Key)
			}
			in.Failure.Class = Class(class)
			in.Failure.Err = errors.New(arg.Key)
		}
	}
	return in
}

func number(d *datadriven.TestData, t *testing.T, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func duration(n Nanos) string {
	s := time.Duration(n).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func between(e Effect) string { return duration(e.Min) + " to " + duration(e.Max) }

func timeouts(e Effect) string {
	if e.PastTimeout && e.IdleTimeout > 0 {
		return "give up when idle for " + duration(e.IdleTimeout) + ", or " + duration(e.Timeout) + " past the timeout"
	}
	if e.PastTimeout {
		return "give up when idle " + duration(e.Timeout) + " past the timeout"
	}
	return "give up when idle for " + duration(e.Timeout)
}

func requestSentence(r Request) string {
	s := r.Verb.String()
	switch {
	case r.Continue != "":
		s += fmt.Sprintf(" on from %q", r.Continue)
	case r.Version == "" && r.Verb != VerbWatch:
		s += " the most recent"
	case r.Version == "0" && r.Verb == VerbList:
		s += " any version"
	case r.NotOlderThan || r.Verb == VerbStream:
		s += fmt.Sprintf(" %q or newer", r.Version)
	default:
		s += fmt.Sprintf(" from %q", r.Version)
	}
	if r.Verb == VerbList {
		if r.Limit > 0 {
			s += fmt.Sprintf(", %d a page", r.Limit)
		} else {
			s += ", in one piece"
		}
	}
	return s
}

// sentence says an effect in words.
func sentence(e Effect) string {
	switch e.Kind {
	case List:
		return requestSentence(e.Request) + "; " + timeouts(e)
	case Watch:
		return requestSentence(e.Request) + " for " + between(e) + "; " + timeouts(e)
	case Wait:
		return "wait " + between(e)
	case Abandon:
		return "abandon the request"
	case SetTimeouts:
		return timeouts(e)
	case RelistAfter:
		return "relist in " + between(e)
	case Stage:
		return "stage"
	case Restage:
		return "stage in place of its earlier state"
	case Unstage:
		return "take out of the stage"
	case Discard:
		return "discard what is staged"
	case Publish:
		if e.Epoch {
			return fmt.Sprintf("publish what is staged, at %q, as a new epoch", e.Version)
		}
		return fmt.Sprintf("publish what is staged, at %q", e.Version)
	case Apply:
		return fmt.Sprintf("apply, to be at %q", e.Version)
	case Advance:
		return fmt.Sprintf("advance to %q", e.Version)
	case Report:
		return fmt.Sprintf("report: %s: %v", requestSentence(e.Failure.Request), e.Failure.Err)
	case End:
		return "end"
	}
	return fmt.Sprintf("?? %+v", e)
}

// counted says which causes, ends, errors and types of events were counted.
func counted(before, after *Counts) string {
	var parts []string
	add := func(was, is uint64, format string, args ...any) {
		if is > was {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
		if is > was+1 {
			parts = append(parts, fmt.Sprintf("%d times", is-was))
		}
	}
	for i := range after.WatchEnds {
		add(before.WatchEnds[i], after.WatchEnds[i], "watch %v", WatchEnd(i))
	}
	for verb := range after.Errors {
		for code := range after.Errors[verb] {
			add(before.Errors[verb][code], after.Errors[verb][code], "error %v %v", Verb(verb)+VerbList, Code(code))
		}
	}
	for i := range after.ListsByCause {
		add(before.ListsByCause[i], after.ListsByCause[i], "list %v", ListCause(i))
	}
	add(before.Added, after.Added, "added")
	add(before.Modified, after.Modified, "modified")
	add(before.Deleted, after.Deleted, "deleted")
	return strings.Join(parts, ", ")
}

// portrait says what is worth knowing of a state.
func portrait(s *State) string {
	parts := []string{s.Phase.String()}
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(s.Synced, "store at %q", s.Version)
	add(!s.Synced, "store empty")
	add(s.Epoch > 0, "epoch %d", s.Epoch)
	add(s.Unordered, "versions unordered")
	add(s.Renumbered || s.Missed, "a list follows")
	add(s.Doubtful, "a probe follows")
	add(s.List.Received > 0, "%d received", s.List.Received)
	add(s.List.Remaining > 0, "%d to come", s.List.Remaining)
	add(s.VersionGone, "version gone")
	add(s.Unpaged, "no pages")
	add(s.Paginated, "server pages")
	add(s.Older > 0, "%d older lists", s.Older)
	add(s.OlderConsistent > 0, "%d of them consistent", s.OlderConsistent)
	add(s.Streamability == Refused, "streaming refused")
	add(s.Streamability == Withheld, "streaming withheld")
	add(s.Refusals > 0, "%d refusals", s.Refusals)
	add(s.Counts.SilentWatches > 0, "%d silent watches", s.Counts.SilentWatches)
	add(s.Degraded(), "degraded")
	add(s.Failure.Class != NoFailure, "failing: %v", s.Failure.Err)
	return strings.Join(parts, "; ")
}
