package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

const (
	// phaseTimeout bounds each phase. The slowest, 200,000 objects of JSON through
	// client-go, takes two minutes.
	phaseTimeout = 10 * time.Minute
	// burstRounds are the versions of every key in a burst.
	burstRounds = 2
	megabyte    = 1e6
)

// phases are what an informer goes through, from the bytes on the wire to the handler:
//
//	sync     from the start until every handler was called with every object
//	burst    so many MODIFIED events for every key, as fast as they are taken, until every
//	         handler was called with the last version of every key
//	relist   the watch ends with 410 Expired, as all others do until somebody lists;
//	         nothing has changed; over with the first event after the list
//	relist   the same, and everything has changed
type phases struct {
	setup
	rounds int
	// gathered has the server send the burst in writes of 64 KiB. As an API server sends
	// it, event by event, an engine that needs less than 15 µs an event waits for each,
	// and most of what it then uses is waking up.
	gathered bool
	relist   bool
	// stalled blocks the last handler from the burst on, which is at an end when the
	// others are.
	stalled bool
}

// wire is one engine at work.
type wire struct {
	*phases
	job      *job
	pods     *testpods.Collection
	control  replay.Control
	audience *audience
	running  running
	figures  measure
	// live is the heap before there was anything.
	live float64
	// happened is how many events have.
	happened int
}

func measureWire(p phases) func(context.Context, *job) (measure, error) {
	return func(ctx context.Context, j *job) (measure, error) {
		if j.Engine == drain {
			return p.drain(ctx, j)
		}
		return p.measure(ctx, j)
	}
}

func (p *phases) measure(ctx context.Context, j *job) (measure, error) {
	c := testpods.NewCollection(*j.row.server)
	w := &wire{
		phases: p, job: j, pods: c, control: replay.Control{Endpoint: j.Endpoint},
		audience: newAudience(max(p.handlers, 1)), figures: measure{},
	}
	// More than there are events: nothing folds.
	p.bound = (p.rounds + 4) * c.Len()
	if err := w.sync(ctx); err != nil {
		return nil, fmt.Errorf("initial sync: %w", err)
	}
	defer func() { w.running.stop() }()
	if p.rounds > 0 {
		if err := w.burst(ctx); err != nil {
			return nil, fmt.Errorf("burst: %w", err)
		}
	}
	if p.relist {
		if err := w.relisted(ctx, 0, "relist same"); err != nil {
			return nil, fmt.Errorf("relist, nothing changed: %w", err)
		}
		if err := w.relisted(ctx, c.Len(), "relist all"); err != nil {
			return nil, fmt.Errorf("relist, everything changed: %w", err)
		}
	}
	if j.Check && j.Engine != clientGo {
		if _, err := p.compare(ctx, j.Endpoint, w.running); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	return w.figures, nil
}

// sync is over when every handler has been called with every object.
func (w *wire) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	live, _, err := process.Settle()
	if err != nil {
		return err
	}
	w.live = live
	all := w.audience.expect("", w.pods.Len())
	cost, err := w.job.phase("sync", func() (err error) {
		w.running, err = w.start(context.WithoutCancel(ctx), w.job.Engine, w.config(w.job.Endpoint), w.audience)
		if err != nil {
			return err
		}
		return w.audience.wait(ctx, all)
	})
	if err != nil {
		if w.running != nil {
			w.running.stop()
		}
		return err
	}
	live, resident, err := process.Settle()
	if err != nil {
		return err
	}
	f := w.figures
	f["sync wall"], f["sync cpu"], f["sync peak"] = cost.Wall, cost.CPU, cost.Peak/megabyte
	f["settled"], f["peak settled"] = resident/megabyte, over(cost.Peak, resident)
	f["heap"] = (live - w.live) / float64(w.pods.Len())
	return nil
}

// burst is over when every handler that is not stalled has been called with the last
// version of every key.
func (w *wire) burst(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	n := w.rounds * w.pods.Len()
	handlers := len(w.audience.listeners)
	var live float64
	if w.stalled {
		live = settled()
		handlers--
		defer w.audience.listeners[handlers].stall()()
	}
	last := w.audience.expect(w.pods.VersionAfter(w.happened+n-w.pods.Len()), w.pods.Len())
	calls := w.audience.calls()
	before, err := w.control.Counts(ctx)
	if err != nil {
		return err
	}
	var b replay.Burst
	cost, err := w.job.phase("burst", func() (err error) {
		if b, err = w.control.Burst(ctx, w.encoding, n, w.gathered); err != nil {
			return err
		}
		return w.audience.wait(ctx, last)
	})
	if err != nil {
		return err
	}
	w.happened += n
	wall := cost.End.Sub(b.Began).Seconds()
	after, err := w.control.Counts(ctx)
	if err != nil {
		return err
	}
	if after.Events-before.Events != int64(n) || after.Initial != before.Initial || after.Lists != before.Lists {
		return fmt.Errorf("the server sent %d events and answered %d lists meanwhile, not %d and none",
			after.Events-before.Events, after.Initial+after.Lists-before.Initial-before.Lists, n)
	}
	f := w.figures
	calls = w.audience.calls() - calls
	f["event cpu"] = cost.CPU * 1e6 / float64(n)
	f["server cpu"] = (after.CPU - before.CPU).Seconds() * 1e6 / float64(n)
	f["burst peak"] = cost.Peak / megabyte
	f["rate"] = float64(n) / wall
	if w.stalled {
		f["pending"] = (settled() - live) / megabyte
	}
	if calls != int64(n*handlers) && !w.folding {
		return fmt.Errorf("handlers were called %d times, not %d", calls, n*handlers)
	}
	return nil
}

// relisted is over when every handler has been called with the event that follows the
// list.
func (w *wire) relisted(ctx context.Context, changed int, figure string) error {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	_, resident, err := process.Settle()
	if err != nil {
		return err
	}
	w.happened += changed
	probe := w.audience.expect(w.pods.VersionAfter(w.happened), 1)
	cost, err := w.job.phase(figure, func() error {
		if err := w.control.Relist(ctx, changed); err != nil {
			return err
		}
		return w.audience.wait(ctx, probe)
	})
	if err != nil {
		return err
	}
	w.happened++
	w.figures[figure], w.figures[figure+" cpu"] = over(cost.Peak, resident), cost.CPU
	return nil
}

// over is a ratio; 0 where the system does not say.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// drainRead is how much is read at once: more than a busy connection has.
const drainRead = 256 << 10

// drain only reads and throws away.
func (p *phases) drain(ctx context.Context, j *job) (measure, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	d, err := p.openDrain(ctx, j)
	if err != nil {
		return nil, err
	}
	defer d.close()
	cost, err := j.phase("sync", func() error { return d.read(j.Prepared.Initial) })
	if err != nil || p.rounds == 0 {
		return measure{"sync cpu": cost.CPU, "sync wall": cost.Wall}, err
	}
	f := measure{"sync cpu": cost.CPU, "sync wall": cost.Wall}
	n := p.rounds * j.row.server.Pods
	control := replay.Control{Endpoint: j.Endpoint}
	cost, err = j.phase("burst", func() error {
		b, err := control.Burst(ctx, p.encoding, n, p.gathered)
		if err != nil {
			return err
		}
		return d.read(b.Bytes)
	})
	f["event cpu"], f["rate"] = cost.CPU*1e6/float64(n), float64(n)/cost.Wall
	return f, err
}

// drained is a watch with initial events.
type drained struct {
	body   io.ReadCloser
	client *http.Client
	buf    []byte
}

// openDrain opens one through client-go's transport, with large reads where there is a
// way to have them.
func (p *setup) openDrain(ctx context.Context, j *job) (*drained, error) {
	cfg := p.config(j.Endpoint)
	client := &http.Client{Transport: &http.Transport{ReadBufferSize: drainRead, DisableCompression: true}}
	if p.secure {
		var err error
		if client, err = rest.HTTPClientFor(cfg); err != nil {
			return nil, err
		}
	}
	url := cfg.Host + "/api/v1/"
	if p.namespace != "" {
		url += "namespaces/" + p.namespace + "/"
	}
	url += "pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", p.encoding.MediaType())
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("the server answers %s", resp.Status)
	}
	if p.secure && resp.ProtoMajor != 2 {
		resp.Body.Close()
		return nil, fmt.Errorf("the server speaks %s", resp.Proto)
	}
	return &drained{body: resp.Body, client: client, buf: make([]byte, drainRead)}, nil
}

// read reads n bytes.
func (d *drained) read(n int64) error {
	for n > 0 {
		got, err := d.body.Read(d.buf)
		if n -= int64(got); err != nil {
			return fmt.Errorf("%d bytes before the end: %w", n, err)
		}
	}
	if n < 0 {
		return fmt.Errorf("%d bytes more than there should be", -n)
	}
	return nil
}

func (d *drained) close() {
	d.body.Close()
	d.client.CloseIdleConnections()
}
