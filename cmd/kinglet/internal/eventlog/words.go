package eventlog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

// limits bound a summary.
type limits struct {
	// width is how many columns the summary may have, value how many one value may.
	width, value int
	// bookkeeping also shows what changes along with everything else, such as times and
	// generations, which is otherwise shown only where nothing else has changed.
	bookkeeping bool
}

// summarize words changes in one line, the most telling first. It counts those that do not
// fit.
func summarize(changes []Change, l limits) string {
	order := slices.Clone(changes)
	slices.SortStableFunc(order, func(a, b Change) int { return rankOf(a.Path) - rankOf(b.Path) })
	var items []item
	for i, c := range order {
		if i > 0 && !l.bookkeeping && rankOf(c.Path) == bookkeeping {
			break
		}
		items = append(items, c.item(l.value))
	}
	return join(items, l.width)
}

// Ranks of changes; lower tells a person more.
const (
	telling = iota // what kubectl get shows in its columns
	desired
	observed
	other
	bookkeeping
)

func rankOf(at string) int {
	root, _, _ := strings.Cut(at, ".")
	leaf := strings.TrimSuffix(at[strings.LastIndexAny(strings.TrimSuffix(at, "]"), ".[]")+1:], "]")
	switch {
	case slices.Contains([]string{"metadata.deletionTimestamp", "spec.nodeName", "spec.replicas", "status.replicas", "status.readyReplicas", "spec.unschedulable", "spec.suspend"}, at),
		root == "status" && (leaf == "phase" || leaf == "ready" || leaf == "restartCount"), isConditionStatus(at):
		return telling
	case at == "metadata.generation", at == "metadata.deletionGracePeriodSeconds", leaf == "observedGeneration" && root == "status",
		root != "spec" && (strings.HasSuffix(leaf, "Time") || strings.HasSuffix(leaf, "Timestamp") || strings.HasSuffix(leaf, "At")):
		return bookkeeping
	case root == "spec":
		return desired
	case root == "status" && leaf != "message" && leaf != "reason":
		return observed
	}
	return other
}

func isConditionStatus(at string) bool {
	return strings.HasPrefix(at, "status.conditions[") && strings.HasSuffix(at, "].status")
}

func (c Change) item(width int) item {
	at := c.Path
	if isConditionStatus(at) {
		at = strings.TrimSuffix(at, ".status")
	}
	_, was := c.Old.(hidden)
	_, is := c.New.(hidden)
	switch {
	case c.reordered:
		return item{at, "reordered"}
	case was && is:
		return item{at, "changed"}
	case is && c.Old == nil:
		return item{at, "added"}
	case was && c.New == nil:
		return item{at, "removed"}
	case c.Old == nil:
		return item{at, "+" + brief(c.New, width)}
	case c.New == nil:
		return item{at, "-" + brief(c.Old, width)}
	}
	before, after := brief(c.Old, width), brief(c.New, width)
	// Of two times of one day, the date is left out.
	if x, err := time.Parse(time.RFC3339Nano, before); err == nil {
		if y, err := time.Parse(time.RFC3339Nano, after); err == nil && x.Format(time.DateOnly) == y.Format(time.DateOnly) {
			before, after = before[len(time.DateOnly)+1:], after[len(time.DateOnly)+1:]
		}
	}
	return item{at, before + "→" + after}
}

// item is a piece of a summary: a path and what it has.
type item struct{ name, value string }

func (i item) String() string { return i.name + " " + i.value }

// clip shortens the item to n columns: the first fields of its path go, whole, and then
// the end of its value.
func (i item) clip(n int) string {
	name, short := i.name, i.name
	for runewidth.StringWidth(short+" "+i.value) > n {
		_, rest, more := strings.Cut(name, ".")
		if !more {
			break
		}
		name, short = rest, ellipsis+rest
	}
	return runewidth.Truncate(short+" "+i.value, n, ellipsis)
}

// join puts as many items in one line as fit, in their order, and says how many are left
// out. If there is room for none, the first one is cut.
func join(items []item, width int) string {
	if len(items) == 0 {
		return ""
	}
	line := ""
	fits := func(i item, width int) bool {
		longer := strings.TrimPrefix(line+", "+i.String(), ", ")
		if width > 0 && runewidth.StringWidth(longer) > width {
			return false
		}
		line = longer
		return true
	}
	if !slices.ContainsFunc(items, func(i item) bool { return !fits(i, width) }) {
		return line
	}
	more := func(n int) string { return ", +" + strconv.Itoa(n) + " more" }
	kept := 0
	line = ""
	for _, i := range items {
		if fits(i, max(1, width-len(more(len(items))))) {
			kept++
		}
	}
	if kept == 0 {
		return items[0].clip(width)
	}
	return line + more(len(items)-kept)
}

// brief words a value in at most width columns, on one line.
func brief(v any, width int) string {
	text := ""
	switch x := v.(type) {
	case nil:
		return "null"
	case hidden:
		return "(hidden)"
	case string:
		text = x
		if x == "" || strings.ContainsFunc(x, func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }) {
			text = strconv.Quote(x)
		}
	case float64:
		text = strconv.FormatFloat(x, 'f', -1, 64)
	case []any:
		if len(x) != 1 {
			return fmt.Sprintf("[%d items]", len(x))
		}
		text = "[" + brief(x[0], width) + "]"
	case map[string]any:
		text = briefMap(x, width)
	default:
		text = fmt.Sprint(x)
	}
	return runewidth.Truncate(text, width, ellipsis)
}

// briefMap shows small maps whole, and the status of a condition.
func briefMap(m map[string]any, width int) string {
	if status, ok := m["status"].(string); ok && m["type"] != nil {
		return status
	}
	if len(m) > 3 {
		return fmt.Sprintf("{%d fields}", len(m))
	}
	var parts []string
	for _, k := range keysOf(m, nil) {
		parts = append(parts, k+": "+brief(m[k], width))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
