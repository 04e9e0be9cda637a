package kinglet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/lag"
	"github.com/kinglet-go/kinglet/internal/ownwrites"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
)

var (
	errNoLag     = errors.New("the source cannot be asked for its server's version")
	errUnordered = errors.New("resource versions cannot be compared")
)

// lagProbe measures how far a store is behind its server.
type lagProbe struct {
	every  time.Duration
	gauge  *lag.Gauge
	latest func(context.Context) (string, error)
	next   func(context.Context, string, time.Duration) (bool, string, error)
	// wait waits until the store reaches a version, and stored returns the version it
	// is at.
	wait   func(context.Context, string) error
	stored func() string

	mu sync.Mutex
	// behind and measured are the last measurement; guarded by mu.
	behind   time.Duration
	measured time.Time
}

// newLagProbe returns nil if every is 0.
func newLagProbe[T any](every time.Duration, traits source.Traits[T], own *ownwrites.Writes[T]) *lagProbe {
	if every == 0 {
		return nil
	}
	return &lagProbe{
		every: every, gauge: lag.NewGauge(), latest: traits.Latest, next: traits.Next,
		wait:   func(ctx context.Context, rv string) error { return own.WaitScope(ctx, "", rv) },
		stored: func() string { return own.Version("") },
	}
}

// run measures from when the store holds the first list until ctx ends.
func (p *lagProbe) run(ctx context.Context, synced <-chan struct{}) {
	if p.latest == nil || p.next == nil {
		return
	}
	select {
	case <-synced:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(p.every)
	defer ticker.Stop()
	for {
		p.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *lagProbe) round(ctx context.Context) {
	asks := &asking{lagProbe: p}
	p.gauge.Round(ctx, asks, p.every)
	p.gauge.Stored(p.stored())
	if p.gauge.Err() != nil || !p.gauge.Level() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.measured, p.behind = time.Now(), asks.took
}

// asking is the requests of one round.
type asking struct {
	*lagProbe
	// took is how long after the request the store had reached the answer; 0 if it was
	// proven that nothing is missing.
	took time.Duration
}

// Version implements lag.Server. It gives the store a second to reach the answer.
func (a *asking) Version(ctx context.Context) (string, int64, error) {
	asked := time.Now()
	version, err := a.latest(ctx)
	if err != nil {
		return "", -1, err
	}
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if a.wait(soon, version) == nil {
		a.took = time.Since(asked)
	}
	a.gauge.Stored(a.stored())
	return version, -1, ctx.Err()
}

// Next implements lag.Server.
func (a *asking) Next(ctx context.Context, from string) (lag.Next, error) {
	began := time.Now()
	change, version, err := a.next(ctx, from, lag.ProofTimeout)
	switch {
	case err != nil:
		return lag.Next{}, err
	case !change && version == "":
		return lag.Nothing(began)
	}
	return lag.Next{Change: change, Version: version}, nil
}

// status returns what is known now.
func (p *lagProbe) status() (l status.Lag) {
	if p == nil {
		return l
	}
	l.Enabled = true
	if p.latest == nil || p.next == nil {
		l.Err = errNoLag
		return l
	}
	if at := p.stored(); at != "" {
		p.gauge.Stored(at)
	}
	r := p.gauge.Read()
	p.mu.Lock()
	l.Behind, l.Measured = p.behind, p.measured
	p.mu.Unlock()
	l.Err = p.gauge.Err()
	switch {
	case r.Known && r.Lag > 0:
		l.Behind, l.Waiting = r.Lag, true
	case l.Err == nil && p.gauge.Odd():
		l.Err = errUnordered
	}
	return l
}
