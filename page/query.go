package page

import (
	"net/url"
	"slices"
)

// query is the parsed query of an address. All links of the page are made from it, so
// that each keeps the choices of the others.
type query struct {
	open   []string // names of informers, and of controllers with a colon before
	filter string
	all    bool // all rows
	paused bool
	stack  string // the informer whose stacks are asked for
	json   bool
}

const (
	// maxOpen bounds how many names one request unfolds.
	maxOpen = 20
	// maxQuery bounds the texts of a query, in bytes together: every link of the page
	// repeats them. Those that exceed it are ignored.
	maxQuery = 4 << 10
)

func parse(v url.Values) query {
	left := maxQuery
	fits := func(text string) bool {
		ok := len(text) <= left
		if ok {
			left -= len(text)
		}
		return ok
	}
	get := func(name string) string {
		if text := v.Get(name); fits(text) {
			return text
		}
		return ""
	}
	q := query{
		filter: get("q"), all: v.Get("all") != "",
		paused: v.Get("pause") != "", stack: get("stack"), json: v.Get("format") == "json",
	}
	for _, name := range v["open"] {
		if len(q.open) < maxOpen && !slices.Contains(q.open, name) && fits(name) {
			q.open = append(q.open, name)
		}
	}
	return q
}

// url returns the address of q, relative to the page.
func (q query) url() string {
	v := url.Values{}
	set := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	flag := func(key string, on bool) {
		if on {
			v.Set(key, "1")
		}
	}
	set("q", q.filter)
	flag("all", q.all)
	flag("pause", q.paused)
	set("stack", q.stack)
	if q.json {
		v.Set("format", "json")
	}
	for _, name := range q.open {
		v.Add("open", name)
	}
	return "?" + v.Encode()
}

func (q query) isOpen(name string) bool { return slices.Contains(q.open, name) }

// toggled returns a copy with name opened or closed.
func (q query) toggled(name string) query {
	open := slices.DeleteFunc(slices.Clone(q.open), func(o string) bool { return o == name })
	if len(open) == len(q.open) {
		open = append(open, name)
	} else if q.stack == name {
		q.stack = ""
	}
	q.open = open
	return q
}

// opened returns a copy with name opened.
func (q query) opened(name string) query {
	if q.isOpen(name) {
		return q
	}
	return q.toggled(name)
}

// with returns a copy modified by change.
func (q query) with(change func(*query)) query {
	change(&q)
	return q
}
