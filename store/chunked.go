package store

// chunked is a list that grows and shrinks at its end. It is never moved as a
// whole, so a write that makes it grow takes no longer than others.
type chunked[E any] struct {
	n      uint32
	chunks [][]E
}

const chunkLen = 1024

func (c *chunked[E]) at(i uint32) E   { return c.chunks[i/chunkLen][i%chunkLen] }
func (c *chunked[E]) ptr(i uint32) *E { return &c.chunks[i/chunkLen][i%chunkLen] }

// push adds an element and returns its number.
func (c *chunked[E]) push(x E) uint32 {
	i := c.n
	c.n++
	if int(i/chunkLen) == len(c.chunks) {
		// The first chunk grows by doubling: a small store stays small.
		var chunk []E
		if i > 0 {
			chunk = make([]E, 0, chunkLen)
		}
		c.chunks = append(c.chunks, chunk)
	}
	last := &c.chunks[i/chunkLen]
	*last = append(*last, x)
	return i
}

// pop removes the last element and returns it.
func (c *chunked[E]) pop() (E, bool) {
	var none E
	if c.n == 0 {
		return none, false
	}
	c.n--
	last := &c.chunks[c.n/chunkLen]
	x := (*last)[c.n%chunkLen]
	*last = (*last)[:c.n%chunkLen]
	if c.n%chunkLen == 0 && c.n > 0 {
		c.chunks = c.chunks[:c.n/chunkLen]
	}
	return x, true
}
