package eventlog

import (
	"sync"

	"github.com/mattn/go-runewidth"

	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// maxNameColumn bounds how far names are padded; a longer one pushes only
	// its own line.
	maxNameColumn = 56
	// maxSummary and maxWideSummary bound a summary where no terminal does.
	maxSummary, maxWideSummary = 140, 1000
	// minSummary is the width below which the time is left out in favour of the summary,
	// and minName the width to which a name is then cut.
	minSummary, minName = 24, 24
	// ellipsis is put where a line was cut.
	ellipsis = "…"
)

// Lines formats events as aligned lines. Columns widen as longer names come, and
// never become narrower, so that lines stay in place. It is safe for
// concurrent use.
type Lines struct {
	opts LinesOptions

	mu       sync.Mutex
	resource int // guarded by mu; width of the column
	name     int // guarded by mu; width of the column
}

// LinesOptions say how lines look. The zero value is a file's: no colours, no
// bound but the summary's.
type LinesOptions struct {
	// Wide shows more: milliseconds, versions, reasons, all that changed.
	Wide bool
	// Color marks the type of the event with a colour.
	Color bool
	// Width returns the terminal's width, which lines then do not exceed
	// unless Wide is set; 0, or nil, is no bound.
	Width func() int
	// Resources are the names that will come, for the width of their column.
	Resources []string
}

// NewLines returns Lines.
func NewLines(opts LinesOptions) *Lines {
	l := &Lines{opts: opts}
	for _, name := range opts.Resources {
		l.resource = max(l.resource, len(name))
	}
	return l
}

// Widen makes room for a key that exists already, so that the first event
// about it does not move the column.
func (l *Lines) Widen(key store.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = max(l.name, min(maxNameColumn, len(key.String())))
}

// Append appends the event as one line, made printable by trouble.Printable: any user who
// may create an object chooses the names of its fields.
func (l *Lines) Append(buf []byte, e Event) []byte {
	key := trouble.Printable(e.Key.String())
	l.mu.Lock()
	l.resource = max(l.resource, len(e.Name))
	l.name = max(l.name, min(maxNameColumn, len(key)))
	resource, name := l.resource, l.name
	l.mu.Unlock()

	width := 0
	if l.opts.Width != nil && !l.opts.Wide {
		width = l.opts.Width()
	}
	stamp := e.Time.Format("15:04:05")
	if l.opts.Wide {
		stamp = e.Time.Format("15:04:05.000")
	}
	verb := pad(e.Verb(), len("MODIFIED"))
	rest := "  " + pad(e.Name, resource) + "  " + pad(key, name)
	if l.opts.Wide {
		rest += "  " + pad(trouble.Printable(e.ResourceVersion), len("12345678")) + "  " + pad(e.Reason.String(), len("Initial"))
	} else if e.Reason == store.Relist {
		rest += "  (relist)"
	}
	rest += "  "

	head := stamp + "  "
	if width > 0 {
		room := func() int { return width - len(head) - len(verb) - runewidth.StringWidth(rest) }
		if room() < minSummary {
			head = "" // who and what come before when
		}
		if room() < minSummary {
			// Then the beginning of the key: objects differ at the end.
			left := width - len(verb) - len("  ")*3 - len(e.Name)
			rest = "  " + e.Name + "  " + lastOf(key, max(min(left, minName), left-minSummary)) + "  "
		}
		if left := room(); left > 0 {
			rest += trouble.Printable(e.summary(left, false))
		}
		rest = runewidth.Truncate(rest, max(1, width-len(head)-len(verb)), ellipsis)
	} else {
		bound := maxSummary
		if l.opts.Wide {
			bound = maxWideSummary
		}
		rest += trouble.Printable(e.summary(bound, l.opts.Wide))
	}

	buf = append(buf, head...)
	buf = l.paint(buf, e.Type, verb)
	buf = append(buf, trimRight(rest)...)
	return append(buf, '\n')
}

func (l *Lines) paint(buf []byte, kind store.ChangeType, text string) []byte {
	if !l.opts.Color {
		return append(buf, text...)
	}
	color := "\x1b[33m" // yellow
	switch kind {
	case store.Added:
		color = "\x1b[32m" // green
	case store.Deleted:
		color = "\x1b[31m" // red
	}
	buf = append(append(buf, color...), text...)
	return append(buf, "\x1b[0m"...)
}

func pad(s string, n int) string {
	for len(s) < n {
		s += "          "[:min(10, n-len(s))]
	}
	return s
}

// lastOf returns the last n characters of a key, which is ASCII, the first of
// them replaced by an ellipsis if there are more.
func lastOf(key string, n int) string {
	if len(key) <= n {
		return key
	}
	if n < 1 {
		return ""
	}
	return ellipsis + key[len(key)-n+1:]
}

func trimRight(s string) string {
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	return s
}
