package prometheus

import (
	"github.com/kinglet-go/kinglet/status"
)

// controllers serves the controllers that the set observes.
func (c *Collector) controllers(s *scrape) {
	var used names
	for _, ctrl := range c.set.Controllers() {
		st := ctrl.Status()
		c.controller(s, &st, labels{used.unique(st.Name)})
	}
}

func (c *Collector) controller(s *scrape, st *status.Controller, l labels) {
	f := &c.families.controller
	s.problems(f.problem, l, st.Problems(s.now))
	s.bool(f.gateOpen, l, st.GateOpen)
	s.time(f.gateSince, l, st.GateSince)
	s.gauge(f.workers, l, float64(st.Workers))
	for _, state := range [...]result{{"queued", uint64(st.Queued)}, {"running", uint64(st.Running)}, {"waiting", uint64(st.Waiting)}} {
		s.gauge(f.keys, l, float64(state.count), state.value)
	}
	s.gauge(f.failing, l, float64(st.Failing))
	s.time(f.oldest, l, st.OldestQueued)
	s.gauge(f.hot, l, float64(len(st.Hot)))
	s.results(f.runs, l, result{"succeeded", st.Succeeded}, result{"failed", st.Failed})
	s.results(f.failures, l, result{"terminal", st.Terminal}, result{"panic", st.Panicked}, result{"timeout", st.TimedOut})
	s.counter(f.unmapped, l, st.Unmapped)
	s.counter(f.adds, l, st.Adds)
	s.counter(f.retries, l, st.Retries)
	s.histogram(f.runDuration, l, &st.Runs)
	s.histogram(f.waitLength, l, &st.Waits)
}
