package keyqueue

import (
	"math"
	"time"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// pace is the limit on all retries together. Keys whose retry is due wait in line,
// ordered by the time when they were due. Every second token goes to the key with the
// most recent first failure, if there is one, so that it does not wait for the many
// keys that fail all the time. The other tokens go to the first in line, so that no
// key waits forever.
type pace struct {
	rate  float64 // tokens a second; 0: no limit
	burst float64

	tokens float64
	// filled is when tokens was computed.
	filled int64

	line heap
	// newest are the keys with the most recent first failures, the latest at the
	// end; some of them may have left the line.
	newest  []firstFailure
	inOrder bool // the next token goes to the first in line
}

type firstFailure struct {
	slot uint32
	due  int64
}

// mostNewest bounds newest. A first failure that is no longer in it waits in line.
const mostNewest = 64

// newPace returns a limit of rate retries a second, with bursts of up to a tenth of a
// second's retries.
func newPace(rate float64) pace {
	burst := max(1, rate/10)
	return pace{rate: rate, burst: burst, tokens: burst}
}

func (p *pace) limited() bool { return p.rate > 0 }

// hold puts a key that is due in line.
func (c *core[K]) hold(now int64, slot uint32, r *record[K], failures int) {
	p := &c.pace
	r.state, r.since = Paced, since(now, 0)
	c.records.push(&p.line, slot)
	if failures > 1 {
		return
	}
	if len(p.newest) == mostNewest {
		p.newest = append(p.newest[:0], p.newest[1:]...)
	}
	p.newest = append(p.newest, firstFailure{slot, r.at})
}

// deal removes a key from the line and returns it, if there is a token for it.
func (c *core[K]) deal(now int64) (slot uint32, ok bool) {
	p := &c.pace
	if len(p.line.slots) == 0 {
		return 0, false
	}
	p.tokens = min(p.burst, p.tokens+time.Duration(now-p.filled).Seconds()*p.rate)
	p.filled = now
	if p.tokens < 1 {
		return 0, false
	}
	p.tokens--
	p.inOrder = !p.inOrder && !mutant.On(mutant.NewestOnly) || mutant.On(mutant.OldestOnly)
	for !p.inOrder && len(p.newest) > 0 {
		first := p.newest[len(p.newest)-1]
		p.newest = p.newest[:len(p.newest)-1]
		if r := c.records.lookup(first.slot); r != nil && r.state == Paced && r.at == first.due {
			c.records.remove(&p.line, first.slot)
			return first.slot, true
		}
	}
	return c.records.pop(&p.line), true
}

// next returns when there is a token for a key in line.
func (p *pace) next() int64 {
	if len(p.line.slots) == 0 {
		return never
	}
	missing := max(0, 1-p.tokens)
	wait := math.Ceil(missing / p.rate * float64(time.Second))
	return later(p.filled, time.Duration(min(wait, never/2)))
}
