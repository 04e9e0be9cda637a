package lag

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Server is asked about one collection.
type Server interface {
	// Version returns the server's version now, and how many objects the
	// collection has, or -1 if that is not known.
	Version(ctx context.Context) (version string, objects int64, err error)
	// Next returns the first change after a version, or that there is none.
	Next(ctx context.Context, from string) (Next, error)
}

// Next is the first change after a version, or the absence of one.
type Next struct {
	// Change is true if it is a change to the collection, which made Version;
	// otherwise nothing changed until Version.
	Change bool
	// Version is empty if nothing changed and the server did not say until which
	// version; nothing changed at least until it was asked.
	Version string
}

// ProofTimeout is how long a watch that looks for a missing change may last. An API
// server sends a bookmark two seconds before a watch's end, so a watch of a quiet
// collection learns after about one second that there is nothing.
const ProofTimeout = 3 * time.Second

var errEndedEarly = errors.New("watch for what is missing: it ended early")

// Nothing returns the result of a watch of ProofTimeout that began at the given time
// and ends now without an event: nothing changed, unless the connection broke.
func Nothing(began time.Time) (Next, error) {
	if time.Since(began) < ProofTimeout-time.Second {
		return Next{}, errEndedEarly
	}
	return Next{}, nil
}

// Gauge is a Meter that is safe for concurrent use, with the loop that asks the server.
type Gauge struct {
	mu      sync.Mutex
	meter   Meter // guarded by mu
	objects int64 // guarded by mu; the server's last count, -1 for unknown
	err     error // guarded by mu; of the last question, nil if it was answered
}

// NewGauge returns a Gauge that knows nothing yet.
func NewGauge() *Gauge { return &Gauge{objects: -1} }

// Run asks the server at once and then at the given interval, until ctx ends.
func (g *Gauge) Run(ctx context.Context, server Server, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		g.Round(ctx, server, every)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Round asks the server once, and for proof if that is needed. It takes at most every,
// or 5 s if that is more, and 12 s for the proof.
func (g *Gauge) Round(ctx context.Context, server Server, every time.Duration) {
	g.ask(ctx, server, every)
	g.prove(ctx, server)
}

func (g *Gauge) ask(ctx context.Context, server Server, every time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, max(every, 5*time.Second))
	defer cancel()
	at := time.Now()
	version, objects, err := server.Version(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err = err; err != nil {
		return
	}
	g.meter.Asked(version, at)
	g.objects = objects
}

func (g *Gauge) prove(ctx context.Context, server Server) {
	g.mu.Lock()
	from, doubt := g.meter.Doubt(time.Now())
	newest := g.meter.newest()
	g.mu.Unlock()
	if !doubt {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	next, err := server.Next(ctx, from)
	if err != nil {
		return // it counts as behind once it has no proof for long enough
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case next.Change:
		g.meter.Found(next.Version)
	case next.Version == "":
		g.meter.Nothing(newest)
	default:
		g.meter.Nothing(next.Version)
	}
}

// Stored tells which version the store equals now.
func (g *Gauge) Stored(version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meter.Stored(version, time.Now())
}

// Delivered tells of a live change with this version.
func (g *Gauge) Delivered(version string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meter.Delivered(version, time.Now())
}

// Read returns the lag now.
func (g *Gauge) Read() Reading {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.meter.Lag(time.Now())
}

// Level reports that the store has, or needs, nothing of what the server has answered.
func (g *Gauge) Level() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.meter.Level()
}

// Odd reports whether versions arrived that cannot be compared. The lag is then unknown
// for good.
func (g *Gauge) Odd() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.meter.odd
}

// Err returns why the last question was not answered.
func (g *Gauge) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Worst returns the greatest lag seen so far, and whether any was measured.
func (g *Gauge) Worst() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.meter.Worst(), !g.meter.asked.IsZero() && g.meter.stored != "" && !g.meter.odd
}

// Objects returns how many objects the server said the collection has, or -1.
func (g *Gauge) Objects() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.objects
}
