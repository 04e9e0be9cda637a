package follow

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
)

// maxObjectNotices bounds how many objects that could not be read are named
// for one collection; the summary counts all of them.
const maxObjectNotices = 10

// notices decides which errors a person is told of: each once, until it
// changes; the same one of several collections in one line; and that it is
// over. It is safe for concurrent use.
type notices struct {
	mu      sync.Mutex
	shown   map[string]shownError // guarded by mu; by collection
	objects map[string]int        // guarded by mu; by collection
	pending []notice              // guarded by mu; in the order of arrival
}

type shownError struct {
	mark string
	at   time.Time
}

type notice struct {
	collection, text string
	good             bool
}

func newNotices() *notices {
	return &notices{shown: map[string]shownError{}, objects: map[string]int{}}
}

// failed tells that a collection's requests fail. text is worded without the
// collection's name.
func (n *notices) failed(collection string, kind trouble.Kind, text string, now time.Time) {
	mark := text
	if kind == trouble.Unreachable || kind == trouble.Busy {
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
	n.pending = append(n.pending, notice{collection: collection, text: text})
}

// recovered tells that a collection's requests work.
func (n *notices) recovered(collection string, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	last, failing := n.shown[collection]
	if !failing {
		return
	}
	delete(n.shown, collection)
	took := quantity.Duration(now.Sub(last.at).Round(100 * time.Millisecond))
	n.pending = append(n.pending, notice{collection: collection, text: "works again after " + took, good: true})
}

// object tells of one object that could not be taken in.
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
func (n *notices) take() []string {
	n.mu.Lock()
	pending := n.pending
	n.pending = nil
	n.mu.Unlock()
	return grouped(pending)
}

// grouped puts collections about which there is the same to say in one line,
// where the first of them stood.
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
