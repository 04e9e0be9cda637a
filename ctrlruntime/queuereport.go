package ctrlruntime

import (
	"cmp"
	"errors"
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
// neither, its error was terminal. A run that asks for Requeue counts as failed. The gate
// opens when a worker asks for a request for the first time. The queue does not learn of
// panics, timeouts and changes that could not be mapped: these are 0.
func (q *queue[request]) Status() status.Controller {
	r := q.keys.Report(0)
	q.mu.Lock()
	defer q.mu.Unlock()
	s := status.Controller{
		Name:          q.name,
		Workers:       q.workers,
		GateOpen:      !q.opened.IsZero(),
		GateSince:     cmp.Or(q.opened, q.made),
		Queued:        r.Queued,
		Running:       r.Running,
		Again:         r.Again,
		Waiting:       r.Waiting,
		Failing:       r.Failing,
		FailedForGood: r.Failed,
		OldestQueued:  r.Oldest,
		Succeeded:     q.counts.succeeded,
		Failed:        q.counts.failed,
		Terminal:      q.counts.terminal,
		Adds:          r.Adds,
		Retries:       q.counts.failed - q.counts.terminal,
		Runs:          q.took.Snapshot(),
		Waits:         q.waited.Snapshot(),
	}
	if s.GateOpen && !r.Oldest.IsZero() && r.Oldest.Before(q.opened) {
		s.OldestQueued = q.opened // the waits before are a standby's
	}
	if !s.GateOpen {
		s.GateReason = "no worker has asked for a request yet"
	}
	s.Unfinished, s.OldestRun = q.unfinishedLocked()
	return s
}

// Inspect implements kinglet.ObservableController. It looks at no more than 1024
// running and 1024 failing requests.
func (q *queue[request]) Inspect() (d status.ControllerDetails) {
	for key, began := range q.looked() {
		if s, ok := q.keys.Get(key); ok {
			s.Since = began
			d.Running = append(d.Running, keyStatus(key, s))
		}
	}
	slices.SortFunc(d.Running, func(a, b status.KeyStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	d.Running = d.Running[:min(len(d.Running), mostShown)]
	for _, failing := range q.keys.Report(mostShown).MostFailures {
		d.Failing = append(d.Failing, keyStatus(failing.Key, failing.KeyStatus))
	}
	return d
}

// looked returns the requests that are being processed, each with its start time.
func (q *queue[request]) looked() map[request]time.Time {
	const look = 1024
	running := map[request]time.Time{}
	q.mu.Lock()
	defer q.mu.Unlock()
	for key, p := range q.running {
		if len(running) == look {
			break
		}
		running[key] = p.began
	}
	return running
}

// What requested a run.
const (
	causeAdd = iota
	causeRetry
)

// errLogged stands for the error of a run: controller-runtime logs it, and does not pass
// it to the queue.
var errLogged = errors.New("see the log of controller-runtime")

func keyStatus[request comparable](key request, s keyqueue.KeyStatus) status.KeyStatus {
	k := status.KeyStatus{
		Key:      fmt.Sprint(key),
		State:    s.State.String(),
		Since:    s.Since,
		Next:     s.Next,
		Failures: s.Failure.Count,
		Cause:    "add",
	}
	if s.Failure.Err != nil {
		k.Error = s.Failure.Err.Error()
	}
	if s.Cause == causeRetry {
		k.Cause = "retry"
	}
	return k
}
