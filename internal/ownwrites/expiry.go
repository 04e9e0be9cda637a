package ownwrites

import "time"

// expiry is the timer of an overlay's oldest entry.
type expiry struct{ *time.Timer }

// armLocked sets the timer to fire when the oldest entry is too old.
func (w *Writes[T]) armLocked(oldest time.Time) {
	w.firing.Add(1)
	timer := &expiry{}
	timer.Timer = time.AfterFunc(time.Until(oldest.Add(confirmWithin)), func() { w.expire(timer) })
	w.timer = timer
}

func (w *Writes[T]) disarmLocked() {
	if w.timer.Stop() {
		w.firing.Done()
	}
	w.timer = nil
}

// expire ends entries that are too old. It runs on the timer's goroutine.
func (w *Writes[T]) expire(timer *expiry) {
	defer w.firing.Done()
	w.report(w.expireEntries(timer))
}

func (w *Writes[T]) expireEntries(timer *expiry) []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != timer {
		return nil // it fired before it could be stopped
	}
	w.timer = nil
	left, old := w.over.Load().Expire(time.Now().Add(-confirmWithin))
	w.counts.Expired += uint64(len(old))
	w.setLocked(left)
	if left != nil && w.timer == nil {
		w.armLocked(left.Oldest())
	}
	return w.unconfirmed(old, ErrNotConfirmed)
}
