package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// phaseTimeout bounds each phase. The slowest, 200,000 objects of JSON through
// client-go, takes two minutes.
const phaseTimeout = 10 * time.Minute

// job is the input of a process that measures.
type job struct {
	Setup    setup
	Engine   string
	Endpoint replay.Endpoint
	Prepared replay.Prepared
	// Check compares the store with what the server says, at the end.
	Check bool
	// Live, if not nil, is a real server in place of Endpoint.
	Live *live
	// Profile is a folder for CPU and heap profiles, or empty.
	Profile string
}

// measureStdio does one job, which comes as input.
func measureStdio(ctx context.Context) error {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return fmt.Errorf("what is the job: %w", err)
	}
	do := measure
	switch {
	case j.Live != nil:
		do = measureLive
	case j.Engine == drain:
		do = measureDrain
	}
	f, err := do(ctx, &j)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// measurement is one engine at work.
type measurement struct {
	job      *job
	pods     *pods.Collection
	control  replay.Control
	audience *audience
	running  running
	profiles profiles
	figures  figures
	// live is the heap before there was anything.
	live float64
	// happened is how many events have.
	happened int
}

func measure(ctx context.Context, j *job) (figures, error) {
	if err := j.Setup.check(); err != nil {
		return nil, err
	}
	c, err := pods.New(j.Setup.Pods)
	if err != nil {
		return nil, err
	}
	m := &measurement{
		job: j, pods: c, control: replay.Control{Endpoint: j.Endpoint}, audience: newAudience(j.Setup.Handlers),
		profiles: profiles{dir: j.Profile, name: j.Engine}, figures: figures{},
	}
	if err := m.sync(ctx); err != nil {
		return nil, fmt.Errorf("initial sync: %w", err)
	}
	defer m.running.stop()
	if j.Setup.Rounds > 0 {
		if err := m.burst(ctx); err != nil {
			return nil, fmt.Errorf("burst: %w", err)
		}
	}
	if j.Setup.Relist {
		if err := m.relist(ctx, 0, relistSame, relistSameCPU); err != nil {
			return nil, fmt.Errorf("relist, nothing changed: %w", err)
		}
		if err := m.relist(ctx, c.Len(), relistAll, relistAllCPU); err != nil {
			return nil, fmt.Errorf("relist, everything changed: %w", err)
		}
	}
	if j.Check {
		n, err := compare(ctx, j, m.running)
		if err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
		m.figures[checked] = float64(n)
	}
	return m.figures, nil
}

// sync is over when every handler has been told of every object.
func (m *measurement) sync(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	live, _, err := process.Settle()
	if err != nil {
		return err
	}
	m.live = live
	all := m.audience.expect("", m.pods.Len())
	cost, err := m.phase("sync", func() (err error) {
		m.running, err = engines[m.job.Engine](context.WithoutCancel(ctx), &m.job.Setup, config(&m.job.Setup, m.job.Endpoint), m.audience)
		if err != nil {
			return err
		}
		return m.audience.wait(ctx, all)
	})
	if err != nil {
		if m.running != nil {
			m.running.stop()
		}
		return err
	}
	live, resident, err := process.Settle()
	if err != nil {
		return err
	}
	f := m.figures
	f[syncWall], f[syncCPU], f[syncPeak] = cost.Wall, cost.CPU, cost.Peak/megabyte
	f[settledRSS], f[peakSettled] = resident/megabyte, over(cost.Peak, resident)
	f[heapObject] = (live - m.live) / float64(m.pods.Len())
	return m.profiles.heap("sync")
}

// burst is over when every handler has been told of the last version of every
// key.
func (m *measurement) burst(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	n := m.job.Setup.Rounds * m.pods.Len()
	last := m.audience.expect(m.pods.VersionAfter(m.happened+n-m.pods.Len()), m.pods.Len())
	told := m.audience.told()
	before, err := m.control.Counts(ctx)
	if err != nil {
		return err
	}
	var b replay.Burst
	cost, err := m.phase("burst", func() (err error) {
		if b, err = m.control.Burst(ctx, m.job.Setup.Encoding, n, m.job.Setup.Gathered); err != nil {
			return err
		}
		return m.audience.wait(ctx, last)
	})
	if err != nil {
		return err
	}
	m.happened += n
	wall := cost.End.Sub(b.Began).Seconds()
	after, err := m.control.Counts(ctx)
	if err != nil {
		return err
	}
	if after.Events-before.Events != int64(n) || after.Initial != before.Initial || after.Lists != before.Lists {
		return fmt.Errorf("the server sent %d events and answered %d lists meanwhile, not %d and none",
			after.Events-before.Events, after.Initial+after.Lists-before.Initial-before.Lists, n)
	}
	f := m.figures
	f[burstTold] = float64(m.audience.told()-told) / float64(n*m.job.Setup.Handlers)
	f[burstCPU] = cost.CPU * 1e6 / float64(n)
	f[serverCPU] = (after.CPU - before.CPU).Seconds() * 1e6 / float64(n)
	f[burstPeak] = cost.Peak / megabyte
	if m.audience.told()-told == int64(n*m.job.Setup.Handlers) {
		f[burstRate] = float64(n) / wall
	} else if !m.job.Setup.Folding {
		return fmt.Errorf("handlers were called %.3f times an event", f[burstTold])
	}
	return m.profiles.heap("burst")
}

// relist is over when every handler has been told of the event that follows
// the list.
func (m *measurement) relist(ctx context.Context, changed int, peak, cpu figure) error {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	_, resident, err := process.Settle()
	if err != nil {
		return err
	}
	m.happened += changed
	probe := m.audience.expect(m.pods.VersionAfter(m.happened), 1)
	cost, err := m.phase(fmt.Sprintf("relist-%d", changed), func() error {
		if _, err := m.control.Relist(ctx, changed); err != nil {
			return err
		}
		return m.audience.wait(ctx, probe)
	})
	if err != nil {
		return err
	}
	m.happened++
	m.figures[peak], m.figures[cpu] = over(cost.Peak, resident), cost.CPU
	return nil
}

// phase measures what do does.
func (m *measurement) phase(name string, do func() error) (c process.Cost, err error) {
	stop, err := m.profiles.cpu(name)
	if err != nil {
		return c, err
	}
	if c, err = process.Phase(do); err != nil {
		return c, err
	}
	return c, stop()
}

// over is a ratio; 0 where the system does not say.
func over(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
