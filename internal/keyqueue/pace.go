package keyqueue

import (
	"math"
	"time"
)

// pace is the limit of all retries together. Keys that may be tried again stand
// in one of two lines, in order of the time when they were due: those that failed
// once, and those that failed again. While both wait they are served in turn, so
// that neither a key that fails for the first time waits for the many that
// fail all the time, nor those for ever for new ones.
type pace struct {
	rate  float64 // tokens a second; 0: no limit
	burst float64

	tokens float64
	// filled is when tokens was computed.
	filled int64

	fresh, tried heap
	triedNext    bool
}

// newPace returns a limit of rate retries a second. As many as are due within a
// tenth of a second may come at once.
func newPace(rate float64) pace {
	burst := max(1, rate/10)
	return pace{rate: rate, burst: burst, tokens: burst}
}

func (p *pace) limited() bool { return p.rate > 0 }

// line returns the line of a key with so many failures.
func (p *pace) line(failures int) *heap {
	if failures <= 1 {
		return &p.fresh
	}
	return &p.tried
}

// deal returns the line whose first key may go now, or nil.
func (p *pace) deal(now int64) *heap {
	if len(p.fresh.slots)+len(p.tried.slots) == 0 {
		return nil
	}
	p.tokens = min(p.burst, p.tokens+time.Duration(now-p.filled).Seconds()*p.rate)
	p.filled = now
	if p.tokens < 1 {
		return nil
	}
	p.tokens--
	tried := len(p.fresh.slots) == 0 || p.triedNext && len(p.tried.slots) > 0
	p.triedNext = !tried
	if tried {
		return &p.tried
	}
	return &p.fresh
}

// next returns when there is a token for a key in line.
func (p *pace) next() int64 {
	if len(p.fresh.slots)+len(p.tried.slots) == 0 {
		return never
	}
	missing := max(0, 1-p.tokens)
	return p.filled + int64(math.Ceil(missing/p.rate*float64(time.Second)))
}
