package eventlog

import (
	"strings"
	"sync"

	"github.com/mattn/go-runewidth"

	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// maxNameColumn bounds how far names are padded; a longer one pushes only
	// its own line.
	maxNameColumn = 56
	// maxSummary and maxWideSummary bound a summary where no terminal does, and maxValue
	// and maxWideValue one value of it.
	maxSummary, maxWideSummary = 140, 1000
	maxValue, maxWideValue     = 40, 120
	// minSummary is the width below which the time is left out in favour of the summary,
	// and then the beginning of the key.
	minSummary = 24
	// ellipsis is put where text was cut.
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
	l.Widen(e.Key)
	l.mu.Lock()
	l.resource = max(l.resource, len(e.Name))
	resource, name := l.resource, l.name
	l.mu.Unlock()

	key := trouble.Printable(e.Key.String())
	stamp, verb := e.Time.Format("15:04:05")+"  ", pad(e.verb(), len("MODIFIED"))
	rest := "  " + pad(e.Name, resource) + "  " + pad(key, name)
	bound := limits{width: maxSummary, value: maxValue}
	width := 0
	if l.opts.Wide {
		stamp = e.Time.Format("15:04:05.000") + "  "
		rest += "  " + pad(trouble.Printable(e.version()), len("12345678")) + "  " + pad(e.Reason.String(), len("Initial"))
		bound = limits{width: maxWideSummary, value: maxWideValue, bookkeeping: true}
	} else {
		if e.Reason == store.Relist {
			rest += "  (relist)"
		}
		if l.opts.Width != nil {
			width = l.opts.Width()
		}
	}
	rest += "  "
	if width > 0 {
		room := func() int { return width - len(stamp) - len(verb) - runewidth.StringWidth(rest) }
		if room() < minSummary {
			stamp = ""
		}
		if room() < minSummary {
			// Objects differ at the end of their key. The key and the summary share what
			// there is.
			left := width - len(verb) - len("  ")*3 - len(e.Name)
			rest = "  " + e.Name + "  " + lastOf(key, max(left/2, left-minSummary)) + "  "
		}
		bound.width = max(1, room())
	}
	rest += trouble.Printable(e.summary(bound))
	if width > 0 {
		rest = runewidth.Truncate(rest, max(1, width-len(stamp)-len(verb)), ellipsis)
	}
	buf = append(buf, stamp...)
	buf = l.paint(buf, e.Type, verb)
	buf = append(buf, strings.TrimRight(rest, " ")...)
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

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-len(s))) }

// lastOf returns the last n cells of a key, the first of them replaced by an ellipsis if
// there are more.
func lastOf(key string, n int) string {
	width := runewidth.StringWidth(key)
	if width <= n {
		return key
	}
	if n < 1 {
		return ""
	}
	return runewidth.TruncateLeft(key, width-n+1, ellipsis)
}
