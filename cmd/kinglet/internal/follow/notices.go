package follow

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/internal/quantity"
)

const (
	// maxObjectNotices bounds how many objects that could not be read are
	// named for one collection; the summary counts all of them.
	maxObjectNotices = 10
	// passing is how long an error that is often transient is held back: most are over
	// at the next try.
	passing = time.Second
)

// notices decides which errors are shown: each once until it changes, the same error of
// several collections in one line, and its end. It is safe for concurrent use.
type notices struct {
	mu      sync.Mutex
	shown   map[string]shownError // guarded by mu; by collection
	objects map[string]int        // guarded by mu; by collection
	pending []notice              // guarded by mu; in the order of arrival
}

type shownError struct {
	mark string
	at   time.Time // of the first error since it last worked
}

type notice struct {
	collection, text string
	good             bool
	// due is when to show it.
	due time.Time
}

func newNotices() *notices {
	return &notices{shown: map[string]shownError{}, objects: map[string]int{}}
}

// failed notes that a collection's requests fail. text does not have the collection's
// name.
func (n *notices) failed(collection string, kind trouble.Kind, text string, now time.Time) {
	mark := text
	if kind == trouble.Unreachable || kind == trouble.Throttled || kind == trouble.Server {
		// Refused, reset, timed out: the words change from try to try.
		mark = kind.Short()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	last, again := n.shown[collection]
	if again && last.mark == mark {
		return
	}
	if again {
		n.shown[collection] = shownError{mark: mark, at: last.at}
	} else {
		n.shown[collection] = shownError{mark: mark, at: now}
	}
	due := now
	if !kind.Lasting() {
		due = due.Add(passing)
	}
	n.pending = append(n.pending, notice{collection: collection, text: text, due: due})
}

// recovered notes that a collection's requests work again.
func (n *notices) recovered(collection string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last, failing := n.shown[collection]
	if !failing {
		return
	}
	delete(n.shown, collection)
	before := len(n.pending)
	n.pending = slices.DeleteFunc(n.pending, func(p notice) bool {
		return p.collection == collection && p.due.After(now)
	})
	if len(n.pending) < before {
		return // it was over before anybody was told
	}
	took := quantity.Duration(now.Sub(last.at).Round(100 * time.Millisecond))
	n.pending = append(n.pending, notice{collection: collection, text: "works again after " + took, good: true, due: now})
}

// object notes an object that could not be taken in.
func (n *notices) object(collection, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.objects[collection]++
	switch count := n.objects[collection]; {
	case count < maxObjectNotices:
		n.pending = append(n.pending, notice{collection: collection, text: text})
	case count == maxObjectNotices:
		n.pending = append(n.pending, notice{collection: collection, text: text + " (further ones are only counted)"})
	}
}

// take returns the lines to show now, and forgets them.
func (n *notices) take(now time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var due, later []notice
	for _, p := range n.pending {
		if p.due.After(now) {
			later = append(later, p)
		} else {
			due = append(due, p)
		}
	}
	n.pending = later
	return grouped(due)
}

// grouped puts collections with the same text into one line, in the place of the first.
func grouped(pending []notice) []string {
	var first []notice
	about := map[string][]string{}
	for _, p := range pending {
		if _, seen := about[p.text]; !seen {
			first = append(first, p)
		}
		if !slices.Contains(about[p.text], p.collection) {
			about[p.text] = append(about[p.text], p.collection)
		}
	}
	lines := make([]string, len(first))
	for i, p := range first {
		lines[i] = strings.Join(about[p.text], ", ") + ": " + p.text
		if !p.good {
			lines[i] = "error: " + lines[i]
		}
	}
	return lines
}
