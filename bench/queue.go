package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	kw "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/workqueue"
)

type key = types.NamespacedName

// queue is what every engine does.
type queue interface {
	Add(key)
	AddAfter(key, time.Duration)
	Get() (key, bool)
	Done(key)
	Len() int
	ShutDown()
}

func newQueue(engine string) queue {
	switch engine {
	case clientGo:
		return kw.NewTypedDelayingQueue[key]()
	case runtimes:
		return priorityqueue.New[key]("")
	case dropIn:
		return workqueue.NewTypedDelayingQueue[key]()
	}
	return headStarts{keyqueue.New(keyqueue.Options[key]{})}
}

// headStarts is kinglet's queue.
type headStarts struct{ q *keyqueue.Queue[key] }

func (h headStarts) Add(k key)                       { h.q.Add(k, keyqueue.AddOptions{}) }
func (h headStarts) AddAfter(k key, d time.Duration) { h.q.Add(k, keyqueue.AddOptions{After: d}) }
func (h headStarts) Done(k key)                      { h.q.Done(k) }
func (h headStarts) Len() int                        { return h.q.Counts().Queued }
func (h headStarts) ShutDown()                       { h.q.Close() }

func (h headStarts) Get() (key, bool) {
	run, ok := h.q.Take()
	return run.Key, !ok
}

// queueRows measure work queues of namespaced names. Times are CPU time of the whole
// process, since controller-runtime's queue works in goroutines of its own.
func queueRows() []row {
	rows := []row{
		// 1,000 keys are added, then each is got and done, by one goroutine.
		{name: "cycle", do: queueCycle, figures: []figure{
			{key: "ns", what: "add, get, done: CPU a key", unit: "ns", targets: below(0, 1/1.1)},
			{key: "bytes", what: "allocated a key", unit: "B", targets: ours(target{own: .5})},
		}},
		{name: "adds", do: queueAdds, figures: []figure{
			{key: "ns", what: "16 goroutines add new keys: CPU an add", unit: "ns"},
		}},
		// The bytes are live heap beyond the keys' own strings.
		{name: "waiting", do: queueWaiting, figures: []figure{
			{key: "bytes", what: "a key that waits", unit: "B", targets: below(0, 1/1.05)},
			{key: "ns", what: "AddAfter: CPU a key", unit: "ns"},
		}},
	}
	for i := range rows {
		rows[i].name, rows[i].engines = "queue/"+rows[i].name, []string{clientGo, runtimes, kinglets, dropIn}
	}
	return rows
}

func queueKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("name-%d", i)}
	}
	return keys
}

// perOperation measures the CPU time of do, which does n operations.
func (j *job) perOperation(n int, do func()) (measure, error) {
	settled()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cost, err := j.phase("operations", func() error { do(); return nil })
	runtime.ReadMemStats(&after)
	return measure{"ns": cost.CPU * 1e9 / float64(n), "bytes": float64(after.TotalAlloc-before.TotalAlloc) / float64(n)}, err
}

func queueCycle(_ context.Context, j *job) (measure, error) {
	q, keys, rounds := newQueue(j.Engine), queueKeys(1000), j.Size.scaled(3000, 20)
	round := func() {
		for _, k := range keys {
			q.Add(k)
		}
		for range keys {
			k, _ := q.Get()
			q.Done(k)
		}
	}
	defer q.ShutDown()
	for range rounds / 10 {
		round()
	}
	return j.perOperation(rounds*len(keys), func() {
		for range rounds {
			round()
		}
	})
}

const producers = 16

// queueAdds asks for the length at the end: controller-runtime's Add writes into a buffer
// that a goroutine empties.
func queueAdds(_ context.Context, j *job) (measure, error) {
	q, keys := newQueue(j.Engine), queueKeys(j.Size.scaled(1_000_000, 5_000))
	defer q.ShutDown()
	return j.perOperation(len(keys), func() {
		var adding sync.WaitGroup
		for p := range producers {
			adding.Go(func() {
				for i := p; i < len(keys); i += producers {
					q.Add(keys[i])
				}
			})
		}
		adding.Wait()
		if n := q.Len(); n != len(keys) {
			panic(fmt.Sprintf("%d keys are queued of %d", n, len(keys)))
		}
	})
}

func queueWaiting(_ context.Context, j *job) (measure, error) {
	q, keys := newQueue(j.Engine), queueKeys(j.Size.scaled(1_000_000, 5_000))
	before := settled()
	m, err := j.perOperation(len(keys), func() {
		for i, k := range keys {
			// Spread over an hour, in no order.
			q.AddAfter(k, time.Hour+time.Duration(i*7919%len(keys))*time.Hour/time.Duration(len(keys)))
		}
		// An engine with a buffer empties it.
		q.Len()
	})
	m["bytes"] = (settled() - before) / float64(len(keys))
	runtime.KeepAlive(keys)
	q.ShutDown()
	return m, err
}
