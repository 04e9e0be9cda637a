package cache

import (
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet"
)

// registration is one handler of a sharedInformer.
type registration struct {
	informer *sharedInformer
	// requested is the requested resync period, at least a second; 0 for none.
	requested time.Duration
	handling  handling
	kinglet   kinglet.Registration
}

var _ ResourceEventHandlerRegistration = (*registration)(nil)

// HasSynced reports whether the handler has returned from every object of the
// state that it began with.
func (r *registration) HasSynced() bool {
	if r.kinglet.HasSynced() {
		return true
	}
	saysNo(r.HasSyncedChecker)
	return false
}

// HasSyncedChecker returns HasSynced as a checker to wait for.
func (r *registration) HasSyncedChecker() DoneChecker {
	return checker{
		name:   r.informer.HasSyncedChecker().Name() + " + event handler " + r.handling.name,
		done:   r.kinglet.Synced(),
		status: r.informer.Status,
	}
}

// ShutdownChan returns a channel that is closed once the handler has been
// called for the last time and has returned. ShutDownEventHandler uses it.
func (r *registration) ShutdownChan() <-chan struct{} { return r.kinglet.Done() }

// RemoveEventHandler ends a registration: no further call begins. It does not
// wait for a call that has begun (ShutDownEventHandler does). It may be called
// at any time, any number of times, also from inside the handler. It fails for
// a handle that no informer of this package has made, and ignores a handle of
// another informer.
func (s *sharedInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok || r == nil {
		return fmt.Errorf("invalid key type %T", handle)
	}
	if r.informer != s {
		return nil
	}
	s.mu.Lock()
	delete(s.early, r)
	s.mu.Unlock()
	r.kinglet.Remove()
	return nil
}

// ShutDownEventHandler removes a handler and waits until it has returned for
// the last time. It may be called at any time, any number of times, but not
// from inside the handler, which would wait for itself. It works with every
// informer whose handles have a method ShutdownChan() <-chan struct{}.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	waitable, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return errNoShutdownChan
	}
	<-waitable.ShutdownChan()
	return nil
}
