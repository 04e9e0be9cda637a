package kinglet

import (
	"context"
	"slices"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// WaitVersion blocks until store and indexes are at resource version rv of the
// collection or a later one, as events, bookmarks and lists bring it. It takes no
// goroutine, and nobody polls. It is for what others have written, such as a
// version that another program handed over; what the program itself wrote needs
// no wait: see Wrote.
//
// A server's version counts the writes to all of its resources, and a quiet
// collection learns of it by bookmarks, once a minute: a wait for a version at
// which something else was written may take that long.
//
// If ctx ends first the error is a *VersionNotReachedError, which names both
// versions. It wraps ErrStopped if the informer stops first, ErrEpoch if the
// server begins to number anew, and ErrNotComparable if rv, or the collection's
// own version, is none that has an order. WaitVersion is safe for concurrent use
// and may be called before Run, and in handlers, which it delays.
func (i *Informer[T]) WaitVersion(ctx context.Context, rv string) error {
	err := i.mirror.own.wait(ctx, rv)
	if err == nil {
		return nil
	}
	return &VersionNotReachedError{Name: i.opts.Name, Want: rv, At: i.mirror.version(), Err: err}
}

// versionWait is one wait for a version.
type versionWait struct {
	version string
	// ended is sent the outcome, once; it has room for it.
	ended chan error
}

// wait waits for a version.
func (o *ownWrites[T]) wait(ctx context.Context, version string) error {
	if !resourceversion.Ordered(version) {
		return ErrNotComparable
	}
	o.mu.Lock()
	over, err := o.waitOverLocked(version)
	if over || o.state == ended {
		o.mu.Unlock()
		if !over {
			err = ErrStopped
		}
		return err
	}
	w := &versionWait{version: version, ended: make(chan error, 1)}
	o.waits = append(o.waits, w)
	o.mu.Unlock()
	select {
	case err := <-w.ended:
		return err
	case <-ctx.Done():
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits = slices.DeleteFunc(o.waits, func(other *versionWait) bool { return other == w })
	select {
	case err := <-w.ended:
		return err // it came at the same time
	default:
		return context.Cause(ctx)
	}
}

// waitOverLocked reports whether a wait for a version has come to its end, and
// with what.
func (o *ownWrites[T]) waitOverLocked(version string) (over bool, err error) {
	if o.at == "" && !o.listed {
		return false, nil
	}
	order, ok := resourceversion.Compare(o.at, version)
	if !ok {
		return true, ErrNotComparable
	}
	return order >= 0, nil
}

// wakeLocked ends the waits that are over.
func (o *ownWrites[T]) wakeLocked() {
	o.waits = slices.DeleteFunc(o.waits, func(w *versionWait) bool {
		over, err := o.waitOverLocked(w.version)
		if over {
			w.ended <- err
		}
		return over
	})
}

// endWaitsLocked ends all waits.
func (o *ownWrites[T]) endWaitsLocked(err error) {
	for _, w := range o.waits {
		w.ended <- err
	}
	o.waits = nil
}
