package prometheus

import "github.com/kinglet-go/kinglet/status"

// controllers serves the controllers of the set.
func (c *Collector) controllers(s *scrape) {
	var used names
	controllers, own := c.set.Controllers()
	for k, ctrl := range controllers {
		st := ctrl.Status()
		c.controller.serve(s, labels{used.unique(own[k])}, &st)
	}
}

func controllerMetrics(l *list) *metrics[status.Controller] {
	m := &metrics[status.Controller]{list: l, prefix: "controller_", labels: []string{"controller"}}
	m.add(base, gauge, "problem_start_timestamp_seconds",
		"What is wrong with a controller, and since when (0 if that is not known): no series, no problem. The set's page says what to do about each cause.",
		func(s series, c *status.Controller) { s.problems(c.Problems(s.now)) }, "cause", "severity")
	m.add(base, gauge, "gate_open",
		"1 if runs may begin. While 0 keys are only collected: informers have not synced, or this replica is not the leader.",
		func(s series, c *status.Controller) { s.bool(c.GateOpen) })
	m.add(base, gauge, "gate_start_timestamp_seconds",
		"Since when the gate has been as it is.",
		func(s series, c *status.Controller) { s.time(c.GateSince) })
	m.add(base, gauge, "workers",
		"How many keys may run at a time. If keys of state running are as many and others are queued, it is busy: look at the duration of runs before you raise it.",
		func(s series, c *status.Controller) { s.gauge(float64(c.Workers)) })
	m.add(base, gauge, "keys",
		"Keys by state: queued ones wait for a worker, waiting ones for a delay or their next try.",
		func(s series, c *status.Controller) {
			s.gauge(float64(c.Queued), "queued")
			s.gauge(float64(c.Running), "running")
			s.gauge(float64(c.Waiting), "waiting")
		}, "state")
	m.add(base, gauge, "failing_keys",
		"Keys whose last run failed. The set's page has the keys and their errors.",
		func(s series, c *status.Controller) { s.gauge(float64(c.Failing)) })
	m.add(base, gauge, "oldest_queued_timestamp_seconds",
		"Since when the key that waits longest for a worker has been queued; no series if none is. If it is old, workers are too few or runs too slow.",
		func(s series, c *status.Controller) { s.time(c.OldestQueued) })
	m.add(base, gauge, "oldest_run_start_timestamp_seconds",
		"When the run under way that has lasted longest began; no series if there is none. If it is old, the run hangs: the set's page has its key.",
		func(s series, c *status.Controller) { s.time(c.OldestRun) })
	m.add(base, gauge, "hot_keys",
		"Keys that ran more than ten times within a minute: often two controllers that undo each other's work. The set's page names them and what asks for the runs.",
		func(s series, c *status.Controller) { s.gauge(float64(len(c.Hot))) })
	m.add(base, counter, "runs_total",
		"Runs by result.",
		func(s series, c *status.Controller) {
			s.results(result{"succeeded", c.Succeeded}, result{"failed", c.Failed})
		}, "result")
	m.add(base, counter, "failures_total",
		"Runs that failed for a reason of their own, by it: terminal errors are not tried again, panics and timeouts are.",
		func(s series, c *status.Controller) {
			s.results(result{"terminal", c.Terminal}, result{"panic", c.Panicked}, result{"timeout", c.TimedOut})
		}, "reason")
	m.add(base, counter, "unmapped_total",
		"Changes that could not be mapped to keys, so that nothing runs for them: the program's map function failed.",
		func(s series, c *status.Controller) { s.counter(c.Unmapped) })
	m.add(detailed, counter, "adds_total",
		"Keys that were asked for.",
		func(s series, c *status.Controller) { s.counter(c.Adds) })
	m.add(detailed, counter, "retries_total",
		"Keys that were asked for since they had failed.",
		func(s series, c *status.Controller) { s.counter(c.Retries) })
	m.add(base, histo, "run_duration_seconds",
		"How long runs took.",
		func(s series, c *status.Controller) { s.histogram(&c.Runs) })
	m.add(base, histo, "queue_duration_seconds",
		"How long keys were queued before they ran.",
		func(s series, c *status.Controller) { s.histogram(&c.Waits) })
	return m
}
