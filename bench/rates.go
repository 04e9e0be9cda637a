package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
)

// rate is what informers are sent at a rate that clusters have: one informer a namespace,
// or one of all, over TLS and HTTP/2.
type rate struct {
	setup
	informers int
	// perSecond is how many events each informer is sent on average, at random times.
	perSecond float64
	// spaced sends them at equal intervals.
	spaced bool
	window time.Duration
	// calm is how long informers are left alone before the first event.
	calm time.Duration
}

// delayed are engines of the rows of rates: kinglet's informers with another MaxDelay than
// the default. With 0 they stay on the connection of HTTP/2 that they share.
const delayed = "kinglet, delay "

func rateEngines() []string {
	engines := []string{clientGo, runtimes, kinglets, dropIn}
	for _, d := range []time.Duration{0, 10, 50, 200} {
		engines = append(engines, delayed+(d*time.Millisecond).String())
	}
	return append(engines, drain)
}

// quickEvents are the most that are measured for a look.
const quickEvents = 200

// rateRows measure an event at the rates that clusters have, where waking up costs more
// than decoding.
func rateRows(s size) []row {
	var rows []row
	add := func(name string, r rate, figures []figure) {
		of := &testpods.Options{Pods: max(s.Pods/5, s.scaled(500, 100)), Namespaces: r.informers}
		r.calm = time.Second
		if s.Quick {
			r.window = min(r.window/20, time.Duration(quickEvents/(r.perSecond*float64(r.informers))*float64(time.Second)))
			r.calm /= 20
		}
		r.encoding, r.secure = replay.Protobuf, true
		rows = append(rows, row{
			name: "rates/" + name, engines: rateEngines(), figures: figures,
			server: of, encoding: replay.Protobuf, rounds: (r.warm()+r.events())/of.Pods + 1, do: measureRate(r),
		})
	}
	for _, of := range []struct {
		informers int
		perSecond float64
		aim       float64
	}{{1, 20, 1.7}, {1, 200, 2}, {1, 2000, 4}, {10, 20, 2}, {10, 200, 4}, {50, 20, 4}, {50, 200, 0}} {
		r := rate{informers: of.informers, perSecond: of.perSecond, window: 10 * time.Second}
		if of.perSecond*float64(of.informers) < 100 {
			r.window *= 3
		}
		aims := below(of.aim, of.aim)
		if of.perSecond == 200 && of.informers == 1 {
			aims[delayed+"0s"], aims[delayed+"50ms"] = target{atMost: 1 / 1.7}, target{atMost: 1. / 3}
		}
		add(fmt.Sprintf("%d × %.0f a second", of.informers, of.perSecond), r, []figure{
			{key: "cpu", what: "CPU an event", unit: "µs", targets: aims},
			{key: "switches", what: "context switches an event"},
			{key: "p50", what: "from the server's write to the handler: p50", unit: "ms"},
			{key: "p99", what: "p99", unit: "ms", targets: ours(target{own: source.DefaultMaxDelay.Seconds()*1e3 + 5})},
		})
	}
	add("first after silence", rate{informers: 1, perSecond: .95, spaced: true, window: 20 * time.Second}, []figure{
		{key: "p50", what: "an event after a second of silence, to the handler: p50", unit: "ms"},
	})
	return rows
}

// of returns what r is for an engine.
func (r rate) of(engine string) rate {
	if d, ok := strings.CutPrefix(engine, delayed); ok {
		if d, err := time.ParseDuration(d); err == nil {
			r.delay = &d
		}
	}
	return r
}

// warm is how many events come before those that are measured: meanwhile kinglet's busy
// watches move to connections of their own, after ten seconds at the latest.
func (r *rate) warm() int {
	if r.spaced {
		return 0
	}
	return int(r.perSecond * float64(r.informers) * min(11, 2*r.window.Seconds()))
}

func (r *rate) events() int { return max(int(r.perSecond*float64(r.informers)*r.window.Seconds()), 2) }

// arrivals are when the handler of one informer had each version.
type arrivals struct {
	versions []string
	times    []time.Time
}

func measureRate(r rate) func(context.Context, *job) (measure, error) {
	return func(ctx context.Context, j *job) (measure, error) {
		ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
		defer cancel()
		c := testpods.NewCollection(*j.row.server)
		control := replay.Control{Endpoint: j.Endpoint}
		n, warm := r.events(), r.warm()
		if j.Engine == drain {
			return r.drain(ctx, j, c, &control, n)
		}
		r := r.of(j.Engine)
		handled, stop, err := r.startAll(ctx, j, c)
		if err != nil {
			return nil, err
		}
		defer stop()
		var sent []time.Time
		send := func(n int) (err error) {
			handled.left.Add(n)
			if sent, err = control.Pace(ctx, n, r.perSecond*float64(r.informers), r.spaced); err != nil {
				return err
			}
			return handled.wait(ctx)
		}
		if warm > 0 {
			if err := send(warm); err != nil {
				return nil, err
			}
		}
		cost, err := j.phase("rate", func() error { return send(n) })
		if err != nil {
			return nil, err
		}
		var took []float64
		for _, a := range handled.arrivals {
			for i, v := range a.versions {
				event, err := c.EventsUntil(v)
				if err != nil {
					return nil, err
				}
				if event > warm {
					took = append(took, a.times[i].Sub(sent[event-warm-1]).Seconds()*1e3)
				}
			}
		}
		m := percentiles(took)
		m["cpu"], m["switches"] = cost.CPU*1e6/float64(n), cost.Switches/float64(n)
		return m, nil
	}
}

// handled collects the arrivals of all informers.
type handled struct {
	arrivals []*arrivals
	left     sync.WaitGroup
}

func (h *handled) wait(ctx context.Context) error {
	all := make(chan struct{})
	go func() {
		h.left.Wait()
		close(all)
	}()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("not every event was handled: %w", context.Cause(ctx))
	}
}

// startAll starts the informers and returns once they have synced and have been left
// alone for a moment.
func (r *rate) startAll(ctx context.Context, j *job, c *testpods.Collection) (h *handled, stop func(), err error) {
	h = &handled{}
	var all []running
	stop = func() { stopAll(all) }
	cfg := r.config(j.Endpoint)
	for i := range r.informers {
		s, want := r.setup, c.Len()
		s.bound = 10 * c.Len()
		if r.informers > 1 {
			s.namespace = c.Namespaces()[i]
			from, to := c.In(s.namespace)
			want = to - from
		}
		a := newAudience(1)
		synced := a.expect("", want)
		inf, err := s.start(context.WithoutCancel(ctx), j.Engine, cfg, a)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all = append(all, inf)
		if err := a.wait(ctx, synced); err != nil {
			stop()
			return nil, nil, err
		}
		// The handler is idle until the first event, which the server sends later.
		times := &arrivals{}
		h.arrivals = append(h.arrivals, times)
		a.each.Store(new(func(version string) {
			times.versions, times.times = append(times.versions, version), append(times.times, time.Now())
			h.left.Done()
		}))
	}
	settled()
	return h, stop, sleep(ctx, r.calm)
}

// drain reads the same streams and throws away what it reads.
func (r *rate) drain(ctx context.Context, j *job, c *testpods.Collection, control *replay.Control, n int) (measure, error) {
	var reading sync.WaitGroup
	var streams []*drained
	defer func() {
		for _, d := range streams {
			d.close()
		}
		reading.Wait()
	}()
	for i := range r.informers {
		s := r.setup
		if r.informers > 1 {
			s.namespace = c.Namespaces()[i]
		}
		d, err := s.openDrain(ctx, j)
		if err != nil {
			return nil, err
		}
		streams = append(streams, d)
		reading.Go(func() { _, _ = io.CopyBuffer(io.Discard, struct{ io.Reader }{d.body}, d.buf) })
	}
	if err := sleep(ctx, 2*r.calm); err != nil {
		return nil, err
	}
	cost, err := j.phase("rate", func() error {
		_, err := control.Pace(ctx, n, r.perSecond*float64(r.informers), r.spaced)
		return err
	})
	return measure{"cpu": cost.CPU * 1e6 / float64(n), "switches": cost.Switches / float64(n)}, err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
