// Package uniquename numbers names that several informers share. The page and the
// metrics of a set must use the same name for each informer.
package uniquename

import "strconv"

// Names gives out names. The zero value has given out none.
type Names struct {
	// next has, for each name that was given out, the number to try next.
	next map[string]int
}

// Of returns name or, if it was given out before, the first of name#2, name#3 … that
// was not.
func (n *Names) Of(name string) string {
	if n.next == nil {
		n.next = map[string]int{}
	}
	i, taken := n.next[name]
	if !taken {
		n.next[name] = 2
		return name
	}
	for {
		numbered := name + "#" + strconv.Itoa(i)
		i++
		if _, taken := n.next[numbered]; !taken {
			n.next[name], n.next[numbered] = i, 2
			return numbered
		}
	}
}
