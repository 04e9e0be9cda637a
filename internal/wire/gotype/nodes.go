package gotype

import (
	"iter"
)

// Nodes makes the nodes of a plan, one for each type and set of fields that are dropped
// inside it, so that recursive types come to an end. It belongs to one goroutine.
type Nodes[N any] struct {
	// Fill fills a node. It gets other nodes by In and To.
	Fill func(n *N, t *Type, d *Drops)
	all  map[nodeKey]*node[N]
	// later are the nodes that To returned before they were filled.
	later []*node[N]
}

type nodeKey struct {
	typ   *Type
	drops string
}

type node[N any] struct {
	node   N
	typ    *Type
	drops  *Drops
	filled bool
}

func (c *Nodes[N]) get(t *Type, d *Drops) *node[N] {
	key := nodeKey{t, d.String()}
	n := c.all[key]
	if n == nil {
		if c.all == nil {
			c.all = map[nodeKey]*node[N]{}
		}
		n = &node[N]{typ: t, drops: d}
		c.all[key] = n
	}
	return n
}

func (c *Nodes[N]) fill(n *node[N]) {
	if !n.filled {
		n.filled = true
		c.Fill(&n.node, n.typ, n.drops)
	}
}

// In returns the node of a type that is part of the memory of the one being filled. It is
// filled.
func (c *Nodes[N]) In(t *Type, d *Drops) *N {
	n := c.get(t, d)
	c.fill(n)
	return &n.node
}

// To returns the node of a type that the one being filled refers to, by a pointer, a slice
// or a map. It may not be filled before Root returns.
func (c *Nodes[N]) To(t *Type, d *Drops) *N {
	n := c.get(t, d)
	if !n.filled {
		c.later = append(c.later, n)
	}
	return &n.node
}

// Root returns the node of a type, and fills all that it leads to.
func (c *Nodes[N]) Root(t *Type, d *Drops) *N {
	n := c.In(t, d)
	for len(c.later) > 0 {
		next := c.later[len(c.later)-1]
		c.later = c.later[:len(c.later)-1]
		c.fill(next)
	}
	return n
}

// All iterates over the nodes.
func (c *Nodes[N]) All() iter.Seq[*N] {
	return func(yield func(*N) bool) {
		for _, n := range c.all {
			if !yield(&n.node) {
				return
			}
		}
	}
}
