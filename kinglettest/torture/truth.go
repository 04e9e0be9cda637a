package torture

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// leap is by how many revisions the storage goes on after a backup. What is
// written between the backup and its restoration has versions that the storage
// does not come to again, so that it can be told from what comes after: a real
// server that reuses versions cannot be followed by anybody.
const leap = 1 << 20

// truth is what really was: every version of every object, in one line of
// history, or two that part at the backup that was restored.
type truth struct {
	states map[types.NamespacedName]map[version]state
	ends   map[types.NamespacedName]map[types.UID]end
	// past and present are what happened before the storage was restored and
	// what leads to its present state. They have the beginning in common.
	past, present []apiserver.Change
	restoration
}

// restoration is when the storage went back, and to where; the zero value is
// that it did not.
type restoration struct {
	backup int64
	at     time.Time
}

// state is one version of an object.
type state struct {
	number int64
	print  uint64
	// last: the object is gone with this one.
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
		// It was created after the backup: with the restoration it never was.
		e.present = beforeAll
	}
	t.ends[key][obj.UID] = e
}

// bornInPast reports whether an object has no state that both lines share.
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

// line says which line of history a revision is in.
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
		// Also a little before the leap's end: a server that is a few revisions
		// late says so in between, where nothing was written.
		return past
	}
	return present
}

// progress is how far somebody has come, in one key or in all.
type progress struct {
	at int64
	// present: past the restoration.
	present bool
}

// reach notes that somebody came to a version, and returns false if that was a
// step back. To go from the one line to the other is none, once there are two.
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

// behind reports whether a version is before another that is known to be
// there at the same time or earlier.
func (t *truth) behind(held, number int64) bool {
	if t.line(number) == past && t.line(held) != past {
		return false // the storage was restored in between
	}
	return held < number
}

// contents is what there was at a revision, by name.
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

// number is a resource version as a number, 0 if it is none.
func number(rv string) int64 {
	n, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
