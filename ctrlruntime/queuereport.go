package ctrlruntime

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/status"
)

// mostShown bounds the requests of a report.
const mostShown = 32

// Status implements kinglet.ObservableController. A run succeeded if controller-runtime
// forgot its request, and failed if it added the request again with a rate limit; with
// neither, its error was terminal. A run that asks for Requeue counts as failed. The
// queue does not learn of panics, timeouts and changes that could not be mapped: these
// are 0.
func (q *queue[request]) Status() status.Controller {
	r := q.keys.Report(0)
	q.mu.Lock()
	defer q.mu.Unlock()
	s := status.Controller{
		Name:         q.name,
		Workers:      q.workers,
		GateOpen:     true,
		Queued:       r.Queued,
		Running:      r.Running,
		Again:        r.Again,
		Waiting:      r.Waiting,
		Failing:      len(q.failing),
		OldestQueued: r.Oldest,
		Succeeded:    q.counts.succeeded,
		Failed:       q.counts.failed,
		Terminal:     q.counts.terminal,
		Adds:         r.Adds,
		Retries:      q.counts.failed - q.counts.terminal,
		Runs:         q.took.Snapshot(),
		Waits:        q.waited.Snapshot(),
	}
	s.Unfinished, s.OldestRun = q.unfinishedLocked()
	return s
}

// Inspect implements kinglet.ObservableController. It looks at no more than 1024
// running and 1024 failing requests.
func (q *queue[request]) Inspect() (d status.ControllerDetails) {
	running, failing := q.looked()
	for key, began := range running {
		if s, ok := q.keys.Get(key); ok {
			d.Running = append(d.Running, q.keyStatus(key, s, began))
		}
	}
	for key := range failing {
		if s, ok := q.keys.Get(key); ok {
			d.Failing = append(d.Failing, q.keyStatus(key, s, s.Since))
		}
	}
	slices.SortFunc(d.Running, func(a, b status.KeyStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	slices.SortFunc(d.Failing, func(a, b status.KeyStatus) int {
		return cmp.Or(cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Key, b.Key))
	})
	d.Running = d.Running[:min(len(d.Running), mostShown)]
	d.Failing = d.Failing[:min(len(d.Failing), mostShown)]
	return d
}

// looked returns the requests that are being processed and those that fail, each with
// its start time.
func (q *queue[request]) looked() (running, failing map[request]time.Time) {
	const look = 1024
	running, failing = map[request]time.Time{}, map[request]time.Time{}
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, p := range q.running {
		if len(running) == look {
			break
		}
		running[key] = p.began
	}
	for key, since := range q.failing {
		if len(failing) == look {
			break
		}
		failing[key] = since
	}
	return running, failing
}

// keyStatus does not have the error: controller-runtime logs it, and does not pass it
// to the queue.
func (q *queue[request]) keyStatus(key request, s keyqueue.KeyStatus, since time.Time) status.KeyStatus {
	failures := q.limiter.NumRequeues(key)
	k := status.KeyStatus{
		Key:      fmt.Sprint(key),
		State:    s.State.String(),
		Since:    since,
		Next:     s.Next,
		Failures: failures,
		Cause:    "add",
	}
	if failures > 0 {
		k.Cause = "retry"
		k.Error = "see the log of controller-runtime"
	}
	return k
}
