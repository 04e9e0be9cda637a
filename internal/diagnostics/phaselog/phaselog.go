// Package phaselog decides which phases and failures of an informer are logged, and how
// often. It writes nothing: packages kinglet and cache do, each with its logger.
//
// There is one line for each change of phase and for each failure, but at most one a
// minute for each [Line.What] and cause. So an informer that fails for hours is logged every minute, with the
// number of failures since; one line says when it has recovered. The phases between the
// attempts of a failing informer are not logged.
package phaselog

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// What names the message of a line.
type What uint8

// The lines.
const (
	// Lists: a list, or a watch-list, begins. The cause is a reflector.ListCause.
	Lists What = iota
	// Synced: the store holds the first list.
	Synced
	// Watches: a later list is in the store.
	Watches
	// Fails: a request failed. The cause is a status.Cause.
	Fails
	// Well: the informer has failed, and follows the server again.
	Well
	// Stopped: Run is over.
	Stopped
)

// String returns the line's message.
func (w What) String() string {
	return [...]string{
		"informer lists", "informer synced", "informer watches", "informer fails", "informer is well again", "informer stopped",
	}[w]
}

// Line is one line of a log.
type Line struct {
	What  What
	Phase reflector.Phase
	// Cause is one of a fixed set of names; empty where there is none.
	Cause string
	// Err is the error of the failure.
	Err error
	// Failures counts the failures that the line represents: those since the last line
	// of this cause or, for Well, since the informer was last well.
	Failures uint64
	// Since is when the informer began to fail; zero if it is not known.
	Since time.Time
}

// Usual reports whether healthy informers log the line too.
func (l *Line) Usual() bool {
	return l.What == Synced || l.What == Stopped || l.What == Lists && l.Cause == reflector.ListStart.String()
}

// Attributes returns the line's attributes, as keys and values.
func (l *Line) Attributes() []any {
	args := []any{"phase", l.Phase.String()}
	if l.Cause != "" {
		args = append(args, "cause", l.Cause)
	}
	if l.Failures > 0 {
		args = append(args, "failures", l.Failures, "since", l.Since)
	}
	if l.Err != nil {
		args = append(args, "err", l.Err)
	}
	return args
}

// every is how long a line suppresses others of its kind and cause.
const every = time.Minute

// Log is the log of one informer. The zero value is ready for use. It is not safe for
// concurrent use.
type Log struct {
	phase  reflector.Phase
	synced bool
	lists  reflector.ListCounts
	errors uint64
	// failed counts failures since the informer was well, and since is when they
	// began. told is whether a line was written about one of them.
	failed uint64
	since  time.Time
	told   bool
	recent map[kind]*last
}

// kind is the unit of rate limiting. The number of kinds is bounded by that of constants.
type kind struct {
	what  What
	cause string
}

type last struct {
	at time.Time
	// unsaid counts the failures that were not written since.
	unsaid uint64
}

// Next returns the line to log for a new status, if any. The statuses are those that
// reflector.Options.OnStatus receives, all of them and in order.
func (l *Log) Next(now time.Time, s *reflector.Status) (line Line, ok bool) {
	from, synced := l.phase, l.synced
	cause, listed := l.listed(&s.ListsByCause)
	failures := s.Errors - l.errors
	l.phase, l.synced, l.errors, l.lists = s.Phase, s.Synced, s.Errors, s.ListsByCause
	line.Phase = s.Phase
	switch {
	case failures > 0 && s.Recent.Last != nil:
		return l.fails(now, s, failures, line)
	case s.Phase == reflector.Stopped:
		line.What = Stopped
		return l.limited(now, line, 1)
	case s.LastError != nil || !s.FailingSince.IsZero():
		return line, false
	case s.Phase == reflector.Watching && l.failed > 0:
		return l.well(line)
	case !synced && s.Synced:
		line.What = Synced
		return l.limited(now, line, 1)
	case from == s.Phase:
		return line, false
	case s.Phase == reflector.Watching && s.Published > 1:
		line.What = Watches
		return l.limited(now, line, 1)
	case listed:
		line.What, line.Cause = Lists, cause.String()
		return l.limited(now, line, 1)
	}
	return line, false
}

// listed returns the cause of the list that was not yet counted at the last call.
func (l *Log) listed(now *reflector.ListCounts) (reflector.ListCause, bool) {
	for cause, n := range now {
		if n > l.lists[cause] {
			return reflector.ListCause(cause), true
		}
	}
	return 0, false
}

func (l *Log) fails(now time.Time, s *reflector.Status, failures uint64, line Line) (Line, bool) {
	if l.failed == 0 {
		l.since = s.Recent.LastTime
	}
	l.failed += failures
	line.What, line.Err, line.Since = Fails, s.Recent.Last, l.since
	line.Cause = string(status.CauseOf(line.Err))
	over := s.Phase == reflector.Watching && s.LastError == nil && s.FailingSince.IsZero()
	if over && l.told {
		return l.well(line)
	}
	line, ok := l.limited(now, line, failures)
	l.told = l.told || ok
	if over { // no line would ever say so
		l.failed, l.told = 0, false
	}
	return line, ok
}

// well returns a line only if a failure was logged before.
func (l *Log) well(line Line) (Line, bool) {
	line.What, line.Failures, line.Since = Well, l.failed, l.since
	told := l.told
	l.failed, l.told = 0, false
	return line, told
}

// limited returns the line if it is due. It represents n failures, and those of its kind
// that were not written.
func (l *Log) limited(now time.Time, line Line, n uint64) (Line, bool) {
	k := kind{line.What, line.Cause}
	before := l.recent[k]
	switch {
	case before == nil:
		if l.recent == nil {
			l.recent = map[kind]*last{}
		}
		before = &last{}
		l.recent[k] = before
	case now.Sub(before.at) < every:
		before.unsaid += n
		return line, false
	}
	if line.What == Fails {
		line.Failures = before.unsaid + n
	}
	*before = last{at: now}
	return line, true
}
