package main

import (
	"context"
	"time"
)

// script is how a source sends the history: at full speed, then at a steady
// rate.
type script struct {
	full, steady int
	// rate of the steady part, in events a second.
	rate int
	// begin starts each part in turn; over is sent its last version.
	begin chan struct{}
	over  chan int
}

func newScript(o *options) *script {
	return &script{full: o.events, steady: o.steady, rate: o.rate, begin: make(chan struct{}), over: make(chan int)}
}

// batchEvents is how many events arrive together at full speed.
const batchEvents = 256

// play calls send for each batch of so many events, the last of which ends its
// part, until ctx ends.
func (s *script) play(ctx context.Context, h *history, send func(n int, last bool) error) error {
	for _, part := range []func(func(int, bool) error) error{
		func(send func(int, bool) error) error { return s.atFullSpeed(send) },
		func(send func(int, bool) error) error { return s.steadily(ctx, send) },
	} {
		select {
		case <-s.begin:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := part(send); err != nil {
			return err
		}
		select {
		case s.over <- h.version:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *script) atFullSpeed(send func(int, bool) error) error {
	for left := s.full; left > 0; {
		n := min(left, batchEvents)
		left -= n
		if err := send(n, left == 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) steadily(ctx context.Context, send func(int, bool) error) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	start := time.Now()
	for done := 0; done < s.steady; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		due := int(time.Since(start).Seconds() * float64(s.rate))
		n := min(due-done, s.steady-done, batchEvents)
		if n <= 0 {
			continue
		}
		done += n
		if err := send(n, done == s.steady); err != nil {
			return err
		}
	}
	return nil
}
