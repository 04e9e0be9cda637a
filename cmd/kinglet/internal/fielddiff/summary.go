package fielddiff

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits bounds a summary.
type Limits struct {
	// Width is the most characters that the summary may have; 0 is no bound.
	Width int
	// Value is the most characters shown of one value; 0 means 40.
	Value int
	// Bookkeeping also shows what changes along with everything else: times,
	// generations. Without it they are shown only where nothing else changed.
	Bookkeeping bool
	// Hide is asked for every path whether its values must not be shown; nil
	// shows everything.
	Hide func(path string) bool
}

// HideSecrets is a Limits.Hide for Secrets: their data, and the annotation in
// which kubectl apply keeps a copy of it.
func HideSecrets(path string) bool {
	return strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData") ||
		strings.HasPrefix(path, "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]")
}

// Summarize words the changes in one line, the most telling first. What does
// not fit is counted at the end.
func Summarize(changes []Change, limits Limits) string {
	order := ranked(changes)
	if !limits.Bookkeeping {
		for i, c := range order {
			if rankOf(c.Path) == bookkeeping && i > 0 {
				order = order[:i]
				break
			}
		}
	}
	items := make([]item, len(order))
	for i, c := range order {
		items[i] = c.item(limits)
	}
	return join(items, limits.Width)
}

// item is one piece of a summary.
type item struct{ name, value string }

func (i item) String() string { return i.name + " " + i.value }

// clip shortens the item to n characters. The value says more than the
// beginning of a long path.
func (i item) clip(n int) string {
	const least = 6 // characters of a name that still mean something
	if room := n - utf8.RuneCountInString(i.value) - 1; room >= least {
		return clipStart(i.name, room) + " " + i.value
	}
	return clip(i.String(), n)
}

func (l Limits) value() int {
	if l.Value == 0 {
		return 40
	}
	return l.Value
}

// join puts as many items in one line as fit, in their order, leaving out
// those that do not, and says how many those are. If there is room for none,
// the first one takes it all, and is cut.
func join(items []item, width int) string {
	if len(items) == 0 {
		return ""
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = item.String()
	}
	all := strings.Join(texts, ", ")
	if width <= 0 || utf8.RuneCountInString(all) <= width {
		return all
	}
	width -= utf8.RuneCountInString(more(len(items))) // the longest it can be
	var kept []string
	used := 0
	for _, text := range texts {
		n := utf8.RuneCountInString(text)
		if len(kept) > 0 {
			n += len(", ")
		}
		if used+n <= width {
			kept = append(kept, text)
			used += n
		}
	}
	if len(kept) == 0 {
		return items[0].clip(width + utf8.RuneCountInString(more(len(items))))
	}
	return strings.Join(kept, ", ") + more(len(items)-len(kept))
}

func more(n int) string { return ", +" + strconv.Itoa(n) + " more" }

// clip shortens s to n characters, the last of which is then an ellipsis.
func clip(s string, n int) string {
	if n <= 0 || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return string(runes[:n-1]) + "…"
}

// clipStart shortens s to its last n characters, the first of which is then an
// ellipsis.
func clipStart(s string, n int) string {
	if n <= 0 || utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return "…" + string(runes[len(runes)-n+1:])
}

func (c Change) item(limits Limits) item {
	at, width := c.Path, limits.value()
	if isConditionStatus(at) {
		at = strings.TrimSuffix(at, ".status")
	}
	switch {
	case limits.Hide != nil && limits.Hide(c.Path):
		return item{at, c.verb()}
	case c.reordered:
		return item{at, "reordered"}
	case c.Old == nil:
		return item{at, "+" + brief(c.New, width)}
	case c.New == nil:
		return item{at, "-" + brief(c.Old, width)}
	}
	before, after := sameDay(brief(c.Old, width), brief(c.New, width))
	return item{at, before + "→" + after}
}

// sameDay leaves out the date of two times of one day.
func sameDay(a, b string) (string, string) {
	x, err := time.Parse(time.RFC3339Nano, a)
	if err != nil {
		return a, b
	}
	y, err := time.Parse(time.RFC3339Nano, b)
	if err != nil || x.Format(time.DateOnly) != y.Format(time.DateOnly) {
		return a, b
	}
	_, a, _ = strings.Cut(a, "T")
	_, b, _ = strings.Cut(b, "T")
	return a, b
}

func (c Change) verb() string {
	switch {
	case c.Old == nil:
		return "added"
	case c.New == nil:
		return "removed"
	}
	return "changed"
}

// brief words one value in at most width characters, without line breaks.
func brief(v any, width int) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		return clip(quoteIfNeeded(x), width)
	case map[string]any:
		return clip(briefMap(x, width), width)
	case []any:
		if len(x) == 1 {
			return clip("["+brief(x[0], width)+"]", width)
		}
		return fmt.Sprintf("[%d items]", len(x))
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	default:
		return clip(fmt.Sprint(x), width)
	}
}

// briefMap shows small maps whole, and of a condition what it says.
func briefMap(m map[string]any, width int) string {
	if _, isCondition := m["type"]; isCondition {
		if status, ok := m["status"].(string); ok {
			return status
		}
	}
	if len(m) > 3 {
		return fmt.Sprintf("{%d fields}", len(m))
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, k := range unionOfKeys(m, nil) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(k + ": " + brief(m[k], width))
	}
	b.WriteByte('}')
	return b.String()
}

// quoteIfNeeded quotes what could not be read otherwise: nothing at all,
// spaces, control characters.
func quoteIfNeeded(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' || !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
