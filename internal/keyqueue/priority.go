package keyqueue

import "time"

// raise sets the priority of a key's next run if it is higher than the present one,
// and returns the head start of the higher of the two.
func (c *core[K]) raise(slot uint32, r *record[K], priority int) time.Duration {
	// A key that is absent, or runs and was not added since, has no next run.
	if fresh := r.state == 0 || r.state == Running && r.at == never; fresh {
		c.setPriority(slot, priority)
		return c.headOf(priority)
	}
	had := c.priorities[slot]
	if priority <= had {
		return c.headOf(had)
	}
	c.setPriority(slot, priority)
	if c.observer != nil && (r.state == Queued || r.state == Again) {
		c.observer.Raised(r.key, had, priority)
	}
	return c.headOf(priority)
}

func (c *core[K]) setPriority(slot uint32, priority int) {
	if priority == 0 {
		delete(c.priorities, slot)
		return
	}
	if c.priorities == nil {
		c.priorities = map[uint32]int{}
	}
	c.priorities[slot] = priority
	c.mostPriorities = max(c.mostPriorities, len(c.priorities))
}

// takePriority returns the priority of a key's next run, and forgets it.
func (c *core[K]) takePriority(slot uint32) int {
	if len(c.priorities) == 0 {
		return 0
	}
	priority := c.priorities[slot]
	delete(c.priorities, slot)
	return priority
}

// headStart returns the head start of a key whose delay is over.
func (c *core[K]) headStart(slot uint32) time.Duration {
	if c.headOf != nil {
		return c.headOf(c.priorities[slot])
	}
	return c.heads[slot]
}
