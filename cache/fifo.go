package cache

// FIFO is a Queue that holds the newest object of each key, and pops keys in
// the order in which they were queued. A deleted object leaves the queue
// without a report. All methods are safe for concurrent use, and only Pop
// blocks. The package's documentation lists where client-go differs.
type FIFO struct {
	queue
	queueReader
	keyFunc KeyFunc
}

var (
	_ Queue       = (*FIFO)(nil)
	_ DoneChecker = (*FIFO)(nil)
)

// NewFIFO returns an empty FIFO whose keys are made by keyFunc. It starts no
// goroutine.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	f := &FIFO{queue: queue{keyed: true}, keyFunc: keyFunc}
	f.init("FIFO")
	f.queueReader = queueReader{&f.queue, f.key, func(e *entry) any { return e.deltas[0].Object }}
	return f
}

// key returns the key of an object. The error is a KeyError.
func (f *FIFO) key(obj any) (string, error) {
	if f.keyFunc == nil {
		return "", KeyError{Obj: obj, Err: errNoKeyFunc}
	}
	return keyOf(f.keyFunc, obj)
}

// change calls do with obj's key, as a write.
func (f *FIFO) change(obj any, do func(key string)) error {
	var key string
	return f.write(func() (err error) { key, err = f.key(obj); return err }, func() []error {
		f.populated = true
		do(key)
		return nil
	})
}

// put queues obj, or replaces the object under its key.
func (f *FIFO) put(key string, obj any) { f.hold(key).deltas = Deltas{{Object: obj}} }

// Add queues obj, and replaces any object under its key. The error is a
// KeyError.
func (f *FIFO) Add(obj any) error {
	return f.change(obj, func(key string) { f.put(key, obj) })
}

// Update is Add.
func (f *FIFO) Update(obj any) error { return f.Add(obj) }

// AddIfNotPresent queues obj unless something is queued under its key. The
// error is a KeyError.
func (f *FIFO) AddIfNotPresent(obj any) error {
	return f.change(obj, func(key string) {
		if _, ok := f.find(key); !ok {
			f.put(key, obj)
		}
	})
}

// Delete removes what is queued under obj's key. The error is a KeyError.
func (f *FIFO) Delete(obj any) error {
	return f.change(obj, func(key string) {
		if _, ok := f.find(key); ok {
			f.drop(key)
		}
	})
}

func (f *FIFO) drop(key string) {
	if f.remove(f.entries[key]).initial {
		f.initial--
	}
}

// Replace makes the queue hold list and nothing else, in its order; of several objects
// with one key the last counts. If it fails, with a KeyError, nothing has changed.
func (f *FIFO) Replace(list []any, _ string) error {
	var keys []string
	return f.write(func() (err error) { keys, err = queueKeys(list, f.key); return err }, func() []error {
		listed := make(map[string]struct{}, len(keys))
		for i, key := range keys {
			f.put(key, list[i])
			if _, twice := listed[key]; !twice {
				f.order.MoveToBack(f.entries[key])
			}
			listed[key] = struct{}{}
		}
		for f.order.Len() > len(listed) { // the others are in front
			f.drop(f.order.Front().Value.(*entry).key)
		}
		f.markInitial()
		return nil
	})
}

// Resync does nothing, since every object here is queued already.
func (f *FIFO) Resync() error { return nil }

// Pop removes the next object from queue and returns it, or nil once the queue
// is closed and empty. It blocks until there is one. It is for tests: the
// object counts as processed before the caller has seen it.
func Pop(queue Queue) any {
	var popped any
	_, _ = queue.Pop(func(obj any, _ bool) error {
		popped = obj
		return nil
	})
	return popped
}
