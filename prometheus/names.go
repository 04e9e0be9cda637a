package prometheus

import "strconv"

// names makes names unique: one that was given out before gets a number, as in "pods#2".
// Two series of one name would make the registry refuse the whole scrape.
type names struct {
	// next has, for each name that was given out, the number to try next.
	next map[string]int
}

// unique returns name as a label has it, with a number if need be.
func (n *names) unique(name string) string {
	name = valid(name)
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
