package connection

import (
	"math"
	"sync"
	"time"
)

const (
	// memory is how long an event counts, about.
	memory = 500 * time.Millisecond
	// together is how many events a delay has to bring together to be worth its timer.
	// Below half of that it is not.
	together = 2
	// steady is how many of its own events a stream remembers at least when it waits. The
	// first ones after silence are read at once.
	steady = 2
	// silence is how long a stream that waited reads at ticks without finding anything.
	silence = 500 * time.Millisecond
	// lively is how many of its own events a busy stream remembers: ten a second.
	lively = 5
	// settled is how long a stream has to be busy at least to have a connection of its own,
	// and twice that at most: the clients of one server, which see the same events, are not
	// to move at once.
	settled = 5 * time.Second
	// patience is how long it may be silent then.
	patience = 2 * time.Minute
)

// rate counts events that are forgotten in time.
type rate struct {
	count float64
	at    time.Time
}

// add counts n events, of which most are remembered at most: a burst is soon forgotten.
func (r *rate) add(n int, most float64, now time.Time) {
	r.count = min(r.count*math.Exp(-float64(now.Sub(r.at))/float64(memory))+float64(n), most)
	r.at = now
}

// pacer lets the streams of a process that have one delay read at the same ticks: many
// streams of few events wake the process as seldom as one of many.
type pacer struct {
	delay time.Duration

	mu sync.Mutex
	// events are those of all streams. guarded by mu
	events rate
	// busy reports that a delay brings several of them together. guarded by mu
	busy bool
}

// pacers by their delays, of which a program has few.
var pacers sync.Map

// pacerOf returns nil for no delay.
func pacerOf(delay time.Duration) *pacer {
	if delay <= 0 {
		return nil
	}
	p, ok := pacers.Load(delay)
	if !ok {
		p, _ = pacers.LoadOrStore(delay, &pacer{delay: delay})
	}
	return p.(*pacer)
}

// pays counts events and reports whether it pays to wait.
func (p *pacer) pays(events int, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	enough := together * float64(memory) / float64(p.delay)
	p.events.add(events, 2*enough, now)
	p.busy = p.events.count >= enough || p.busy && p.events.count >= enough/2
	return p.busy
}

// start is the first tick of all pacers, so that delays that divide each other share ticks.
var start = time.Now()

// tick returns the next one after now.
func (p *pacer) tick(now time.Time) time.Time { return now.Add(p.delay - now.Sub(start)%p.delay) }

// Wait returns when it pays to read: at once while events come one by one, else at the
// next tick at which there is something to read, or when there is as much as a connection
// reads at a time. It is to be called once everything that was read has been delivered:
// events that were since the last call. Closing the Stream ends it.
//
// It returns true if the watch is to be opened again from its version, for another
// connection: its own, after some seconds of ten events or more; or the shared one, after two
// minutes of silence.
func (s *Stream) Wait(events int) (move bool) { return s.wait(events, patience) }

func (s *Stream) wait(events int, patience time.Duration) (move bool) {
	if events > 0 && !s.served.Load() {
		s.served.Store(true)
	}
	if s.pacer == nil || s.initial {
		return false
	}
	began := time.Now()
	if began.Sub(s.events.at) > 2*memory {
		s.busy = time.Time{} // bursts are not many events a second
	}
	s.events.add(events, 4*steady, began)
	pays := s.pacer.pays(events, began) && s.events.count >= steady
	c := s.conn.Load()
	if c == nil {
		if !s.movable || !s.route.resumes.Load() || s.events.count < lively {
			s.busy = time.Time{}
			return false
		}
		if s.busy.IsZero() {
			s.busy = began
		}
		move = began.Sub(s.busy) >= s.settles
		s.route.own.Store(move)
		return move
	}
	if s.full {
		return false
	}
	for now := began; pays && now.Sub(began) <= max(silence, 2*s.pacer.delay); now = time.Now() {
		if c.receive(s.pacer.tick(now)) {
			return false
		}
		pays = s.pacer.pays(0, now)
	}
	if c.await(time.Now().Add(patience)) {
		return false
	}
	s.route.own.Store(false)
	return true
}
