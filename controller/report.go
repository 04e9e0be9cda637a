package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// mostShown bounds the keys of a report.
const mostShown = 32

// Report returns the state of the controller as a kinglet.Set shows it: see
// Set.ObserveController. It contains everything in Status, with keys as text, and the
// queue's age and distributions. Its cost does not grow with the number of keys.
func (c *Controller[K]) Report() status.Controller {
	q := c.queue.Report(0)
	s := c.status(q.Counts)
	r := status.Controller{
		Name:          s.Name,
		Workers:       s.Workers,
		GateOpen:      s.Gate.Reason == "",
		GateReason:    s.Gate.Reason,
		GateErr:       s.Gate.Err,
		GateSince:     s.Gate.Since,
		Queued:        s.Queued,
		Running:       s.Running,
		Waiting:       s.Waiting,
		Failing:       s.Failing,
		FailedForGood: s.FailedForGood,
		OldestQueued:  q.Oldest,
		Succeeded:     s.Succeeded,
		Failed:        s.Failed,
		Terminal:      s.Terminal,
		Panicked:      s.Panicked,
		LastPanic:     s.LastPanic,
		TimedOut:      s.TimedOut,
		Unmapped:      s.Unmapped,
		Adds:          q.Adds,
		Retries:       q.Retries,
		Runs:          c.counts.took.Snapshot(),
		Waits:         c.counts.waited.Snapshot(),
	}
	for _, hot := range s.Hot {
		r.Hot = append(r.Hot, status.HotKey{Key: keyText(hot.Key), Runs: hot.Runs, Causes: hot.Causes})
	}
	return r
}

// ReportDetails returns the keys that run and those that fail. It looks at the key of
// each worker, and at no more than 1024 of the keys that fail, in no particular order.
// The queue is locked for some tens of microseconds at most.
func (c *Controller[K]) ReportDetails() status.ControllerDetails {
	var d status.ControllerDetails
	for i := range c.workers {
		key, began, running := c.workers[i].look()
		if !running {
			continue
		}
		// The run may have ended meanwhile, and the key may run on another worker.
		if s, ok := c.Key(key); ok && (s.State == Running || s.State == RunningAgain) {
			s.Since = began
			d.Running = append(d.Running, keyReport(key, s))
		}
	}
	slices.SortFunc(d.Running, func(a, b status.KeyStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	d.Running = d.Running[:min(len(d.Running), mostShown)]
	for _, failing := range c.queue.Report(mostShown).MostFailures {
		d.Failing = append(d.Failing, keyReport(failing.Key, c.keyStatus(failing.KeyStatus)))
	}
	return d
}

func keyReport[K comparable](key K, s KeyStatus) status.KeyStatus {
	return status.KeyStatus{
		Key:      keyText(key),
		State:    s.State.String(),
		Since:    s.Since,
		Next:     s.Next,
		Failures: s.Failures,
		Error:    errorText(s.LastError),
		Cause:    s.Cause,
	}
}

// keyText returns a key as fmt prints it.
func keyText[K comparable](key K) string {
	switch k := any(key).(type) {
	case kinglet.Key:
		return k.String()
	case string:
		return k
	}
	return fmt.Sprint(key)
}

// mostErrorText bounds the text of an error in a report, in bytes.
const mostErrorText = 1024

// errorText returns the text of an error; of a panic, its value without the stack.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	var panicked *PanicError
	text := fmt.Sprint(err) // its Error method may panic, as that of a nil pointer
	if errors.As(err, &panicked) && panicked.Value != nil {
		text = fmt.Sprintf("panic: %v", panicked.Value)
	}
	if len(text) > mostErrorText {
		text = strings.ToValidUTF8(text[:mostErrorText], "") + "…"
	}
	return text
}

// look returns the key that a worker runs, and since when.
func (w *worker[K]) look() (key K, began time.Time, running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.key, w.began, w.running
}

// begin records what the worker runs.
func (w *worker[K]) begin(key K, began time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key, w.began, w.running = key, began, true
}

func (w *worker[K]) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key, w.running = *new(K), false
}
