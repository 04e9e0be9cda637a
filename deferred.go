package kinglet

import "sync"

// deferredErrors keeps errors that come up while a lock is held, until they
// can be reported without it. It holds at most those of one batch.
type deferredErrors struct {
	mu   sync.Mutex
	errs []error // guarded by mu
}

func (d *deferredErrors) add(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errs = append(d.errs, err)
}

// report hands over all errors there are, under no lock.
func (d *deferredErrors) report(to func(error)) {
	d.mu.Lock()
	errs := d.errs
	d.errs = nil
	d.mu.Unlock()
	for _, err := range errs {
		to(err)
	}
}
