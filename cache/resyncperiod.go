package cache

import (
	"time"

	"k8s.io/klog/v2"
)

// minResync is the shortest period at which a handler of a shared informer is
// resynced.
const minResync = time.Second

// requestedResync returns the period that a handler requests: at least
// minResync, or 0 for none.
func (s *sharedInformer) requestedResync(logger klog.Logger, period *time.Duration) time.Duration {
	requested := s.defaultResync
	if period != nil {
		requested = *period
	}
	switch {
	case requested <= 0:
		return 0
	case requested < minResync:
		logger.Info("Warning: the resync period is raised to the minimum", "requested", requested, "minimum", minResync)
		return minResync
	}
	return requested
}

// resyncLocked returns the resync period of a handler that requested this one.
// Before the start it may lower the informer's own period, for all handlers.
func (s *sharedInformer) resyncLocked(logger klog.Logger, requested time.Duration) time.Duration {
	switch {
	case requested == 0:
		return 0
	case s.resync <= 0:
		logger.Info("Warning: this informer does no resyncs, so the handler gets none", "requested", requested)
		return 0
	case s.ctx == nil:
		s.resync = min(s.resync, requested)
		return requested
	}
	period := multiple(requested, s.resync)
	if period != requested {
		logger.Info("Warning: the resync period is rounded up to a multiple of the informer's, which has started",
			"requested", requested, "informer", s.resync)
	}
	return period
}

// fixResyncLocked fixes the informer's period, and the periods of the handlers
// that were added before the start.
func (s *sharedInformer) fixResyncLocked() {
	if s.resync > 0 {
		s.resync = max(s.resync, minResync)
	}
	for r := range s.early {
		r.kinglet.SetResync(multiple(r.requested, s.resync))
	}
	s.early = nil
}

// multiple rounds period up to a multiple of unit.
func multiple(period, unit time.Duration) time.Duration {
	return (period + unit - 1) / unit * unit
}
