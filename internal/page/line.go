package page

import (
	"bytes"
	"html/template"
)

// A page of a thousand informers has a thousand lines of thirteen cells. With
// html/template, which finds and escapes each field by reflection, they cost three times
// the bound. So lines are written here, and everything else by the template.

// line writes HTML: markup writes markup, and text writes all other text.
type line struct{ b bytes.Buffer }

// markup writes HTML that is a constant in this file.
func (l *line) markup(parts ...string) {
	for _, p := range parts {
		l.b.WriteString(p)
	}
}

// text writes text, escaped for an element's content and for an attribute in double
// quotes.
func (l *line) text(s string) { template.HTMLEscape(&l.b, []byte(s)) }

// dim writes text that is less important, if there is any.
func (l *line) dim(s string) {
	if s != "" {
		l.markup(` <span class="dim">`)
		l.text(s)
		l.markup(`</span>`)
	}
}

// cell writes a cell with a label for narrow screens. A cell without information is
// shown as less important, and not at all on narrow screens.
func (l *line) cell(class, label, s, more string) {
	if s == "0" || s == "–" {
		class += " zero"
	}
	l.markup(`<td role="cell" class="`, class, `" data-l="`, label, `"><span>`)
	l.text(s)
	l.dim(more)
	l.markup(`</span></td>`)
}

const numeric = "num"

// html is the row without its details.
func (r *row) html() template.HTML {
	var l line
	l.b.Grow(1600)
	class := r.State
	if r.Open {
		class += " open"
	}
	l.markup(`<tr role="row" id="`, r.ID, `" class="`, class, `"><td role="cell" class="state"><span aria-hidden="true">`, r.Mark, `</span> `)
	l.text(r.Word)
	l.dim(r.For)
	expanded, arrow := "false", "▸"
	if r.Open {
		expanded, arrow = "true", "▾"
	}
	l.markup(`</td><th role="rowheader" scope="row" class="name"><a href="`)
	l.text(r.OpenURL)
	l.markup(`" aria-expanded="`, expanded, `"><span aria-hidden="true">`, arrow, `</span> `)
	l.text(r.Name)
	l.markup(`</a>`)
	l.dim(r.Resource)
	l.markup(`</th>`)
	l.cell("phase", "Phase", r.Phase, r.Since)
	l.cell(numeric, "Objects", r.Objects, "")
	l.cell(numeric, "Read", r.Read, "")
	l.cell(numeric, "Version", r.Version, "")
	l.cell(numeric, "Contact", r.Contact, "")
	l.markup(`<td role="cell" class="num rate" data-l="Events/s"><span>`, string(r.Spark), `<span class="n">`)
	l.text(r.Rate)
	l.markup(`</span></span></td>`)
	l.cell(numeric, "Lists", r.Lists, r.Relists)
	l.cell(numeric, "Pending", r.Pending, r.Oldest)
	l.cell(numeric, "Bad", r.Quarantined, "")
	l.markup(`<td role="cell" class="path" data-l="Read by"><span>`)
	if r.PathWhy != "" {
		l.markup(`<span title="`)
		l.text(r.PathWhy)
		l.markup(`">`)
		l.text(r.Path)
		l.markup(` <span aria-hidden="true">·</span><span class="sr">`)
		l.text(r.PathWhy)
		l.markup(`</span></span>`)
	} else {
		l.text(r.Path)
	}
	l.markup("</span></td></tr>\n")
	return template.HTML(l.b.String())
}
