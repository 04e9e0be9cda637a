package prometheus

type controllerFamilies struct {
	problem, gateOpen, gateSince, workers  *family
	keys, failing, oldest, hot             *family
	runs, failures, unmapped               *family
	adds, retries, runDuration, waitLength *family
}

func (l *list) controllers() (f controllerFamilies) {
	of := func(t tier, k kind, name, help string, more ...string) *family {
		return l.define(t, k, "controller_"+name, help, append([]string{"controller"}, more...)...)
	}
	f.problem = of(base, gauge, "problem_start_timestamp_seconds",
		"What is wrong with a controller, and since when (0 if that is not known): no series, no problem. The set's page says what to do about each cause.",
		"cause", "severity")
	f.gateOpen = of(base, gauge, "gate_open",
		"1 if runs may begin. While 0 keys are only collected: informers have not synced, or this replica is not the leader.")
	f.gateSince = of(base, gauge, "gate_start_timestamp_seconds",
		"Since when the gate has been as it is.")
	f.workers = of(base, gauge, "workers",
		"How many keys may run at a time. If keys of state running are as many and others are queued, it is busy: look at the duration of runs before you raise it.")
	f.keys = of(base, gauge, "keys",
		"Keys by state: queued ones wait for a worker and waiting ones for a delay or their next try.", "state")
	f.failing = of(base, gauge, "failing_keys",
		"Keys whose last run failed. The set's page has the keys and their errors.")
	f.oldest = of(base, gauge, "oldest_queued_timestamp_seconds",
		"Since when the key that waits longest for a worker has been queued; no series if none is. If it is old, workers are too few or runs too slow.")
	f.hot = of(base, gauge, "hot_keys",
		"Keys that ran more than ten times within a minute: often two controllers that undo each other's work. The set's page names them and what asks for the runs.")
	f.runs = of(base, counter, "runs_total",
		"Runs by result.", "result")
	f.failures = of(base, counter, "failures_total",
		"Runs that failed for a reason of their own, by it: terminal errors are not tried again, panics and timeouts are.", "reason")
	f.unmapped = of(base, counter, "unmapped_total",
		"Changes that could not be mapped to keys, so that nothing runs for them: the program's map function failed.")
	f.adds = of(detailed, counter, "adds_total",
		"Keys that were asked for.")
	f.retries = of(detailed, counter, "retries_total",
		"Keys that were asked for since they had failed.")
	f.runDuration = of(base, histogram, "run_duration_seconds",
		"How long runs took.")
	f.waitLength = of(base, histogram, "queue_duration_seconds",
		"How long keys were queued before they ran.")
	return f
}
