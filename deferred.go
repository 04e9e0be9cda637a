package kinglet

import "sync"

// deferredErrors reports the store's errors, which come up while the hub's
// lock is held when the mirror writes, as soon as it is not: between hold and
// release they are kept, at most those of one batch. At any other time, when
// somebody writes to the store directly, they are reported at once.
type deferredErrors struct {
	to func(error)

	mu   sync.Mutex
	held bool    // guarded by mu
	errs []error // guarded by mu
}

func (d *deferredErrors) add(err error) {
	d.mu.Lock()
	held := d.held
	if held {
		d.errs = append(d.errs, err)
	}
	d.mu.Unlock()
	if !held {
		d.to(err)
	}
}

// hold keeps errors from now on.
func (d *deferredErrors) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = true
}

// release reports what was kept, under no lock.
func (d *deferredErrors) release() {
	d.mu.Lock()
	errs := d.errs
	d.errs, d.held = nil, false
	d.mu.Unlock()
	for _, err := range errs {
		d.to(err)
	}
}
