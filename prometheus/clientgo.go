package prometheus

import (
	"cmp"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// NewClientGo returns a collector of the controllers and informers of a Set under the names
// that client-go, k8s.io/component-base and controller-runtime give to work queues and
// informers, so that dashboards made for them go on working. Controllers of one name are
// one series, their sum (for the longest run their maximum), and a counter never goes back:
// it keeps the counts of controllers that have left the set, also of one that comes back. It
// reads the set when it is scraped.
//
// controller-runtime has a work queue provider with the same names: do not register both
// with one registry.
func NewClientGo(set *kinglet.Set) prometheus.Collector {
	c := &clientGo{set: set, ended: map[string]*queueCounts{}, last: map[any]named{}}
	q := &metrics[queueState]{list: &c.list, prefix: "workqueue_", labels: []string{"name"}}
	q.add(base, gauge, "depth", "Current depth of workqueue.",
		func(s series, q *queueState) { s.gauge(q.queued) })
	q.add(base, counter, "adds_total", "Total number of adds handled by workqueue.",
		func(s series, q *queueState) { s.counter(q.adds) })
	q.add(base, histo, "queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested.",
		func(s series, q *queueState) { s.histogram(&q.waits) })
	q.add(base, histo, "work_duration_seconds", "How long in seconds processing an item from workqueue takes.",
		func(s series, q *queueState) { s.histogram(&q.runs) })
	q.add(base, gauge, "unfinished_work_seconds", "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads.",
		func(s series, q *queueState) { s.gauge(q.unfinished) })
	q.add(base, gauge, "longest_running_processor_seconds", "How many seconds the longest running processor for workqueue has been running.",
		func(s series, q *queueState) { s.gauge(q.longest) })
	q.add(base, counter, "retries_total", "Total number of retries handled by workqueue.",
		func(s series, q *queueState) { s.counter(q.retries) })
	c.queue = q
	c.version = &metrics[uint64]{list: &c.list, labels: []string{"name", "group", "version", "resource"}}
	c.version.add(base, gauge, "informer_store_resource_version", "The 15 least significant digits of the resource version of the store.",
		func(s series, v *uint64) { s.gauge(float64(*v % 1e15)) }) // a float64 has no more digits
	return c
}

type clientGo struct {
	list
	set     *kinglet.Set
	queue   *metrics[queueState]
	version *metrics[uint64]

	mu sync.Mutex
	// ended are the counts of controllers that have left the set, by name: bounded by the
	// names that there ever were. last is what each controller in the set was seen with.
	// Guarded by mu.
	ended map[string]*queueCounts
	last  map[any]named
}

// named is what the controllers of one name have counted.
type named struct {
	name string
	queueCounts
}

type queueCounts struct {
	adds, retries uint64
	waits, runs   status.Histogram
}

// queueState is what is served of all controllers of one name.
type queueState struct {
	queueCounts
	queued, unfinished, longest float64
}

func (q *queueCounts) add(o *queueCounts) {
	q.adds += o.adds
	q.retries += o.retries
	sum(&q.waits, &o.waits)
	sum(&q.runs, &o.runs)
}

func sum(to, more *status.Histogram) {
	to.Sum += more.Sum
	for i, n := range more.Counts {
		to.Counts[i] += n
	}
}

func (c *clientGo) Describe(out chan<- *prometheus.Desc) { c.describe(out) }

func (c *clientGo) Collect(out chan<- prometheus.Metric) {
	s := &scrape{now: time.Now(), out: out}
	c.queues(s)
	c.versions(s)
}

// queues serves the controllers as work queues.
func (c *clientGo) queues(s *scrape) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := map[any]named{}
	series := map[string]*queueState{}
	controllers, _ := c.set.Controllers() // those of one name are summed
	for _, ctrl := range controllers {
		st := ctrl.Status()
		n := named{valid(st.Name), queueCounts{st.Adds, st.Retries, st.Waits, st.Runs}}
		if reflect.ValueOf(ctrl).Comparable() {
			now[ctrl] = n
		} // else its counts are lost with it
		all := cmp.Or(series[n.name], &queueState{})
		series[n.name] = all
		all.add(&n.queueCounts)
		all.queued += float64(st.Queued + st.Again)
		all.unfinished += st.Unfinished.Seconds()
		if !st.OldestRun.IsZero() {
			all.longest = max(all.longest, s.now.Sub(st.OldestRun).Seconds())
		}
	}
	for ctrl, n := range c.last {
		if _, ok := now[ctrl]; !ok {
			all := cmp.Or(c.ended[n.name], &queueCounts{})
			c.ended[n.name] = all
			all.add(&n.queueCounts)
		}
	}
	c.last = now
	for name, all := range c.ended {
		series[name] = cmp.Or(series[name], &queueState{})
		series[name].add(all)
	}
	for name, all := range series {
		c.queue.serve(s, labels{name}, all)
	}
}

// versions serves the versions of informers. Those of one name and resource are numbered.
func (c *clientGo) versions(s *scrape) {
	var used names
	informers, own := c.set.Observed()
	for k, inf := range informers {
		st := inf.Status()
		name := used.unique(own[k])
		if v, err := strconv.ParseUint(st.ResourceVersion, 10, 64); err == nil {
			c.version.serve(s, labels{name, valid(st.Resource.Group), valid(st.Resource.Version), valid(st.Resource.Resource)}, &v)
		}
	}
}
