// Package uniquename numbers names that several informers, controllers or handlers share.
// Each keeps its name for life: series of metrics must not pass from one to another.
package uniquename

import (
	"strconv"
	"strings"
)

// Names gives out names. The zero value has given out none.
type Names struct {
	// given has what was asked for, by what was given for it.
	given map[string]string
	// shared has each name that was asked for by somebody who still has what it got.
	shared map[string]*shared
}

type shared struct {
	by   int
	next int // no lesser number is free
}

// Of returns name or, if somebody has it, the first of name#2, name#3 … that nobody has.
func (n *Names) Of(name string) string {
	if n.given == nil {
		n.given, n.shared = map[string]string{}, map[string]*shared{}
	}
	s := n.shared[name]
	if s == nil {
		s = &shared{next: 1}
		n.shared[name] = s
	}
	s.by++
	for ; ; s.next++ {
		unique := name
		if s.next > 1 {
			unique += "#" + strconv.Itoa(s.next)
		}
		if _, taken := n.given[unique]; !taken {
			n.given[unique] = name
			return unique
		}
	}
}

// Free takes back a name that Of returned.
func (n *Names) Free(unique string) {
	name := n.given[unique]
	delete(n.given, unique)
	if s := n.shared[name]; s.by > 1 {
		s.by--
	} else {
		delete(n.shared, name)
	}
	n.free(unique, 1)
	if at := strings.LastIndexByte(unique, '#'); at >= 0 {
		if number, err := strconv.Atoi(unique[at+1:]); err == nil {
			n.free(unique[:at], number)
		}
	}
}

func (n *Names) free(name string, number int) {
	if s := n.shared[name]; s != nil {
		s.next = min(s.next, number)
	}
}
