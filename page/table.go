package page

import (
	"bytes"
	"hash/fnv"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/status"
)

// table is one of the two tables of the page.
type table struct {
	Title, Class string
	Heads        []columnHead
	Rows         []row
}

// column is a column of a table.
type column[T any] struct {
	label, title string
	number       bool
	of           func(now time.Time, of T) cell
}

// columnHead is the head of a column.
type columnHead struct{ Label, Title, Class string }

// row is a line of a table, with its first two columns.
type row struct {
	*subject
	Open    bool
	openURL string
	dim     string // behind the name
	Cells   []cell
	Details *details
	Line    template.HTML
}

// cell is a value, with less important text behind it, and words that explain it.
type cell struct{ text, more, why string }

// heads makes the heads of a table: those of the state and the name, and of its columns.
func heads[T any](what, title string, columns []column[T]) []columnHead {
	out := []columnHead{{Label: "State", Title: "what is wrong, and for how long"}, {Label: what, Title: title}}
	for _, c := range columns {
		h := columnHead{c.label, c.title, "text"}
		if c.number {
			h.Class = "num"
		}
		out = append(out, h)
	}
	return out
}

// add adds a line. A page of a thousand informers has a thousand lines of thirteen cells.
// html/template, which finds and escapes each field by reflection, takes three times as
// long as a look at such a page may cost, so lines are written here.
func (t *table) add(now time.Time, r row) {
	var b bytes.Buffer
	b.Grow(1600)
	markup := func(parts ...string) {
		for _, p := range parts {
			b.WriteString(p)
		}
	}
	text := func(s string) { template.HTMLEscape(&b, []byte(s)) }
	dim := func(s string) {
		if s != "" {
			markup(` <span class="dim">`)
			text(s)
			markup(`</span>`)
		}
	}
	word, lasting := "ok", ""
	if len(r.problems) > 0 {
		p := &r.problems[0]
		word, lasting = words(p.Cause), since(now, p.Since)
		if p.Over {
			word, lasting = "over: "+word, lasting+" ago"
		}
	}
	class, expanded, arrow := r.worst.String(), "false", "▸"
	if r.Open {
		class, expanded, arrow = class+" open", "true", "▾"
	}
	markup(`<tr role="row" id="`, id(r.opens), `" class="`, class, `"><td role="cell" class="state"><span aria-hidden="true">`, marks[r.worst], `</span> `)
	text(word)
	dim(lasting)
	markup(`</td><th role="rowheader" scope="row" class="name"><a href="`)
	text(r.openURL)
	markup(`" aria-expanded="`, expanded, `"><span aria-hidden="true">`, arrow, `</span> `)
	text(r.name)
	markup(`</a>`)
	dim(r.dim)
	markup(`</th>`)
	for k, c := range r.Cells {
		head := t.Heads[k+2]
		class := head.Class
		if c.text == "0" || c.text == "–" {
			class += " zero" // less important, and left out on narrow screens
		}
		markup(`<td role="cell" class="`, class, `" data-l="`, head.Label, `"><span>`)
		text(c.text)
		dim(c.more)
		if c.why != "" {
			markup(`<span title="`)
			text(c.why)
			markup(`"> <span aria-hidden="true">·</span><span class="sr">`)
			text(c.why)
			markup(`</span></span>`)
		}
		markup(`</span></td>`)
	}
	markup("</tr>\n")
	r.Line = template.HTML(b.String())
	t.Rows = append(t.Rows, r)
}

// marks are shown before a word, and convey the same as its colour.
var marks = [...]string{status.OK: "✓", status.Note: "·", status.Warning: "!", status.Broken: "✗"}

// words returns a cause with its underscores replaced by spaces.
func words(c status.Cause) string { return strings.ReplaceAll(string(c), "_", " ") }

func number[N ~int | ~int64 | ~uint64](n N) string { return quantity.Count(int64(n)) }

// since returns how long ago a time was, empty for the zero time.
func since(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := max(0, now.Sub(at))
	switch {
	case d < time.Minute-time.Second/2:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + "s"
	case d < 48*time.Hour:
		return quantity.Duration(d)
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d" + strconv.Itoa(int(d%(24*time.Hour)/time.Hour)) + "h"
}

// id returns an identifier for a line's address, for any characters in its name.
func id(name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	return "i" + strconv.FormatUint(h.Sum64(), 36)
}
