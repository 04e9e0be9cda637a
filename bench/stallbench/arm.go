package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Outcome is what one process measured.
type Outcome struct {
	Engine  string
	Stalled bool
	// Rate is how many events a second passed at full speed, until both
	// others had seen the last.
	Rate float64
	// Delays of the two others, in microseconds: at the steady rate, and in
	// the backlog of full speed.
	SteadyP50, SteadyP99, SteadyMax float64
	FullP50, FullP99                float64
	// HeapBefore and HeapAfter the events at full speed, live, in bytes.
	HeapBefore, HeapAfter uint64
	// MaxPending and MaxInFlight are records of the stalled handler, looked at
	// after every batch; -1 where the engine does not say.
	MaxPending, MaxInFlight int
	// Recovery is how long the stalled handler took to catch up, in
	// milliseconds, Told how many calls that were.
	Recovery float64
	Told     int
	// Owed deletes of objects that the stalled handler knew, all delivered if
	// nothing is wrong.
	Owed  int
	Wrong []string
}

// engine is one implementation with its source and handlers at work.
type engine interface {
	// begin starts everything with the initial state; it returns when all
	// handlers have been told of it.
	begin(ctx context.Context) error
	// caughtUp waits until every handler has been told everything.
	caughtUp(ctx context.Context) error
	// records are the most that were pending and in flight for the stalled
	// handler; -1 if that cannot be known.
	records() (pending, inFlight int)
	// end stops everything.
	end() error
}

// gate is where a handler stands still, from the first event on that is not of
// the initial state, until it is opened.
type gate struct {
	reached func()
	at      chan struct{}
	open    chan struct{}
}

func newGate() *gate {
	g := &gate{at: make(chan struct{}), open: make(chan struct{})}
	g.reached = sync.OnceFunc(func() { close(g.at) })
	return g
}

func (g *gate) pass(ctx context.Context) {
	g.reached()
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// stage is what both engines work with.
type stage struct {
	h       *history
	initial []object
	script  *script
	// others are never stalled; stalled is nil if there is no such handler.
	others  []*listener
	stalled *listener
	gate    *gate
}

func newStage(o *options, stalled bool) *stage {
	h := newHistory(o.seed, o.keys, o.events+o.steady)
	full := h.version + o.events
	s := &stage{h: h, initial: h.list(), script: newScript(o), gate: newGate()}
	s.others = []*listener{newListener("first", h, full), newListener("second", h, full)}
	if stalled {
		s.stalled = newListener("stalled", h, full)
	}
	return s
}

func (s *stage) listeners() []*listener {
	if s.stalled == nil {
		return s.others
	}
	return append([]*listener{s.stalled}, s.others...)
}

// part lets the source play its next part, and waits until the others have
// been told of its end.
func (s *stage) part(ctx context.Context, last int) error {
	var ends []<-chan struct{}
	for _, l := range s.others {
		ends = append(ends, l.expect(last))
	}
	select {
	case s.script.begin <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case v := <-s.script.over:
		if v != last {
			return fmt.Errorf("the source ended at version %d, not %d", v, last)
		}
	case <-ctx.Done():
		return fmt.Errorf("the source stands still: %w", ctx.Err())
	}
	for i, end := range ends {
		select {
		case <-end:
		case <-ctx.Done():
			return fmt.Errorf("handler %q has not seen the last event: %w", s.others[i].name, ctx.Err())
		}
	}
	return nil
}

// perform measures one engine.
func perform(ctx context.Context, o *options, s *stage, e engine) (out Outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	defer func() {
		if eerr := e.end(); err == nil {
			err = eerr
		}
	}()
	if err := e.begin(ctx); err != nil {
		return out, err
	}
	out.HeapBefore = liveHeap()
	start := time.Now()
	full := s.h.version + o.events
	if err := s.part(ctx, full); err != nil {
		return out, err
	}
	out.Rate = float64(o.events) / time.Since(start).Seconds()
	out.HeapAfter = liveHeap()
	if err := s.part(ctx, full+o.steady); err != nil {
		return out, err
	}
	out.MaxPending, out.MaxInFlight = e.records()
	start = time.Now()
	if s.stalled != nil {
		select {
		case <-s.gate.at:
		default:
			out.Wrong = append(out.Wrong, "the stalled handler was never called")
		}
		out.Told = -s.stalled.told()
	}
	close(s.gate.open)
	if err := e.caughtUp(ctx); err != nil {
		return out, err
	}
	out.Recovery = float64(time.Since(start).Microseconds()) / 1e3
	s.judge(&out)
	return out, nil
}

// judge fills in what is known once everybody has caught up.
func (s *stage) judge(out *Outcome) {
	var both [2]delays
	for _, l := range s.others {
		for i := range both {
			both[i].merge(&l.delays[i])
		}
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	out.FullP50, out.FullP99 = us(both[0].percentile(50)), us(both[0].percentile(99))
	out.SteadyP50, out.SteadyP99 = us(both[1].percentile(50)), us(both[1].percentile(99))
	out.SteadyMax = us(both[1].max)
	for _, l := range s.listeners() {
		owed, wrong := l.judge(s.initial)
		out.Wrong = append(out.Wrong, wrong...)
		if l == s.stalled {
			out.Owed, out.Told = owed, out.Told+l.told()
		}
	}
	if s.stalled != nil && out.MaxPending > len(s.h.names) {
		out.Wrong = append(out.Wrong, fmt.Sprintf("%d records were pending on %d keys", out.MaxPending, len(s.h.names)))
	}
	if s.stalled != nil && out.MaxInFlight > 1 {
		out.Wrong = append(out.Wrong, fmt.Sprintf("%d records were in flight", out.MaxInFlight))
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
