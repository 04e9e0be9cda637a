package torture

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// leap is how many revisions the storage skips after a backup. The versions written
// between the backup and its restoration are therefore not used again, and can be told
// from later ones. No client can follow a server that uses versions twice.
const leap = 1 << 20

// truth is what happened on the server: every version of every object, in one line of
// history, or in two that part at the backup that was restored.
type truth struct {
	states map[types.NamespacedName]map[version]state
	ends   map[types.NamespacedName]map[types.UID]end
	// past is what happened before the storage was restored, and present what leads to
	// its present state. Both begin alike.
	past, present []apiserver.Change
	restoration
}

// restoration is when the storage was restored, and to which revision; zero if it was
// not.
type restoration struct {
	backup int64
	at     time.Time
}

// state is one version of an object.
type state struct {
	number int64
	print  uint64
	// last: the object was deleted with this version.
	last bool
}

// end is the version with which an object ended, in each line; 0 if it did not.
type end struct{ past, present int64 }

func truthOf(past, present []apiserver.Change, r restoration) *truth {
	t := &truth{
		states: map[types.NamespacedName]map[version]state{}, ends: map[types.NamespacedName]map[types.UID]end{},
		past: past, present: present, restoration: r,
	}
	for i := range past {
		t.add(&past[i])
	}
	for i := range present {
		t.add(&present[i])
	}
	return t
}

func (t *truth) add(ch *apiserver.Change) {
	key := ch.Key()
	if t.states[key] == nil {
		t.states[key], t.ends[key] = map[version]state{}, map[types.UID]end{}
	}
	obj := ch.Object.(Object)
	s := state{ch.Revision, printOf(obj), ch.Type == watch.Deleted}
	t.states[key][versionOf(obj)] = s
	e := t.ends[key][obj.UID]
	if s.last {
		switch t.line(s.number) {
		case past:
			e.past = s.number
		case present:
			e.present = s.number
		default:
			e = end{s.number, s.number}
		}
	} else if t.line(s.number) == past && t.ends[key][obj.UID] == (end{}) && t.bornInPast(obj) {
		// It was created after the backup, so the restored storage never had it.
		e.present = beforeAll
	}
	t.ends[key][obj.UID] = e
}

// bornInPast reports whether an object has no state in both lines of history.
func (t *truth) bornInPast(obj Object) bool {
	key := types.NamespacedName{Namespace: obj.Namespace, Name: obj.Name}
	for v, s := range t.states[key] {
		if v.uid == obj.UID && t.line(s.number) != past {
			return false
		}
	}
	return true
}

// beforeAll is before every revision.
const beforeAll = 1

// line is a line of history.
type line int8

const (
	both line = iota
	past
	present
)

func (t *truth) restored() bool { return !t.at.IsZero() }

func (t *truth) line(number int64) line {
	switch {
	case !t.restored() || number <= t.backup:
		return both
	case number >= t.backup+leap/2:
		// Also a little before the leap's end: a server that lags by a few revisions
		// reports one in between, where nothing was written.
		return past
	}
	return present
}

// progress is how far a handler or a reader has come, in one key or in all.
type progress struct {
	at int64
	// present: past the restoration.
	present bool
}

// reach records that a version was reached, and returns false if that was a step back.
// Going from the past to the present line of history is none.
func (t *truth) reach(p *progress, number int64, when time.Time) bool {
	forward := number >= p.at
	from := t.line(p.at)
	switch t.line(number) {
	case past:
		if p.present {
			return false
		}
	case present:
		if from == past {
			forward = !when.Before(t.restoration.at)
		}
		p.present = true
	default:
		if !forward && from == past && !p.present {
			forward = t.restored() && !when.Before(t.restoration.at)
			p.present = forward
		}
	}
	if forward {
		p.at = number
	}
	return forward
}

// behind reports whether a version is before another that was known at the same time or
// earlier.
func (t *truth) behind(held, number int64) bool {
	if t.line(number) == past && t.line(held) != past {
		return false // the storage was restored in between
	}
	return held < number
}

// contents returns the objects of a revision, by name.
func (t *truth) contents(number int64) map[string]version {
	line := t.present
	if t.line(number) == past {
		line = t.past
	}
	out := map[string]version{}
	for i := range line {
		ch := &line[i]
		if ch.Revision > number {
			break
		}
		if ch.Type == watch.Deleted {
			delete(out, ch.Key().Name)
		} else {
			out[ch.Key().Name] = versionOf(ch.Object.(Object))
		}
	}
	return out
}

// number returns a resource version as a number, or 0 if it is none.
func number(rv string) int64 {
	n, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
