package cache

import (
	"fmt"
	"slices"

	kc "k8s.io/client-go/tools/cache"
)

// deltas is the common part of DeltaFIFO and RealFIFO: what they are given, and the
// objects in it.
type deltaSource struct {
	keyFunc     KeyFunc
	known       KeyListerGetter // may be nil
	transformer TransformFunc   // may be nil
}

// Transformer returns the function that objects go through before they are
// queued, or nil.
func (d *deltaSource) Transformer() TransformFunc { return d.transformer }

// keyOf returns the key of an object, of a DeletedFinalStateUnknown or of Deltas.
func (d *deltaSource) keyOf(obj any) (string, error) {
	switch gone := obj.(type) {
	case Deltas:
		if len(gone) == 0 {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		return d.keyOf(gone[len(gone)-1].Object)
	case DeletedFinalStateUnknown:
		return gone.Key, nil
	}
	if d.keyFunc == nil {
		return MetaNamespaceKeyFunc(obj)
	}
	return d.keyFunc(obj)
}

// key is keyOf with the error of a write, a KeyError.
func (d *deltaSource) key(obj any) (string, error) {
	key, err := d.keyOf(obj)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// transformed returns the object to queue for obj.
func (d *deltaSource) transformed(obj any) (any, error) {
	if _, gone := obj.(DeletedFinalStateUnknown); gone || d.transformer == nil {
		return obj, nil
	}
	return d.transformer(obj)
}

// prepare returns the key of each object, and the objects to queue, in a slice of
// their own.
func (d *deltaSource) prepare(list []any) (keys []string, objs []any, err error) {
	if keys, err = queueKeys(list, d.key); err != nil {
		return nil, nil, err
	}
	objs = slices.Clone(list)
	for i := range objs {
		if objs[i], err = d.transformed(objs[i]); err != nil {
			return nil, nil, err
		}
	}
	return keys, objs, nil
}

// eachKnown calls visit with each known object, except those whose keys skip accepts.
// found is false if the object is gone or its look-up failed; the errors of failed
// look-ups are returned.
func (d *deltaSource) eachKnown(skip func(key string) bool, visit func(key string, obj any, found bool)) (failed []error) {
	if d.known == nil {
		return nil
	}
	for _, key := range d.known.ListKeys() {
		if skip(key) {
			continue
		}
		obj, found, err := d.known.GetByKey(key)
		if err != nil {
			failed, obj, found = append(failed, lookupFailed(key, err)), nil, false
		}
		visit(key, obj, found)
	}
	return failed
}

// missed returns the delete of an object that a list does not have; obj, the last state
// that was seen, may be nil.
func missed(key string, obj any) Delta {
	if gone, ok := obj.(DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	return Delta{Type: Deleted, Object: DeletedFinalStateUnknown{Key: key, Obj: obj}}
}

// with returns deltas with one more. Two adjacent deletes become one, the one that knows
// more, since watches and lists both report the same deletion: the first report of the
// final state, else the later of two guesses, if it has an object at all.
func with(deltas Deltas, newer Delta) Deltas {
	if n := len(deltas); n > 0 && newer.Type == Deleted && deltas[n-1].Type == Deleted {
		before, unknown := deltas[n-1].Object.(DeletedFinalStateUnknown)
		if now, guess := newer.Object.(DeletedFinalStateUnknown); unknown && (!guess || now.Obj != nil || before.Obj == nil) {
			deltas[n-1] = newer
		}
		return deltas
	}
	return append(deltas, newer)
}

// DeltaFIFOOptions say how a DeltaFIFO works. All are optional. Logger has no
// effect: what goes wrong with KnownObjects is reported as other errors are.
type DeltaFIFOOptions = kc.DeltaFIFOOptions

// DeltaFIFO is a Queue that holds the deltas of each key since it was last
// popped, and pops keys in the order in which they were queued. Its items are
// of type Deltas. All methods are safe for concurrent use, and only Pop blocks.
// The package's documentation lists where client-go differs.
type DeltaFIFO struct {
	keyedQueue
	deltaSource
	replaced DeltaType
	flight   *entry // guarded by state; what a process function has, or nil
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFO returns an empty DeltaFIFO that queues replaced objects as Sync.
//
// Deprecated: NewDeltaFIFOWithOptions can tell the two apart.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty DeltaFIFO. It starts no goroutine.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	f := &DeltaFIFO{deltaSource: deltaSource{opts.KeyFunction, opts.KnownObjects, opts.Transformer}, replaced: Sync}
	if opts.EmitDeltaTypeReplaced {
		f.replaced = Replaced
	}
	f.init(f.order.Len, "DeltaFIFO", opts.Name)
	return f
}

// KeyOf returns the key of an object, of a DeletedFinalStateUnknown or of
// Deltas. The error is the key function's, or a KeyError for empty Deltas.
func (f *DeltaFIFO) KeyOf(obj any) (string, error) { return f.keyOf(obj) }

// Add queues an Added delta. The error is a KeyError or the transformer's.
func (f *DeltaFIFO) Add(obj any) error { return f.change(Added, obj) }

// Update queues an Updated delta. The error is a KeyError or the transformer's.
func (f *DeltaFIFO) Update(obj any) error { return f.change(Updated, obj) }

func (f *DeltaFIFO) change(t DeltaType, obj any) error {
	var key string
	return f.write(func() (err error) {
		if key, err = f.key(obj); err == nil {
			obj, err = f.transformed(obj)
		}
		return err
	}, func() []error {
		f.populated = true
		f.append(key, Delta{Type: t, Object: obj})
		return nil
	})
}

// append adds a delta to those queued under key.
func (f *DeltaFIFO) append(key string, d Delta) {
	e := f.hold(key)
	e.deltas = with(e.deltas, d)
}

// Delete queues a Deleted delta, if the key is queued or among the known objects: else
// that deletion was reported before. A failed look-up counts as known, and is reported.
// The error is a KeyError or the transformer's; an ignored object is not transformed.
func (f *DeltaFIFO) Delete(obj any) error {
	var key string
	var present bool
	var failed []error
	return f.write(func() (err error) {
		if key, err = f.key(obj); err != nil {
			return err
		}
		// No write and no take comes in between: both hold writing.
		if _, present = f.find(key); !present && f.known != nil {
			if _, present, err = f.known.GetByKey(key); err != nil {
				present, failed = true, []error{lookupFailed(key, err)}
			}
		}
		err = nil
		if present {
			obj, err = f.transformed(obj)
		}
		return err
	}, func() []error {
		f.populated = true
		if present {
			f.append(key, Delta{Type: Deleted, Object: obj})
		}
		return failed
	})
}

// AddIfNotPresent queues Deltas that were popped, unless something is queued
// under their key. To make Pop put back what it popped, return ErrRequeue instead.
func (f *DeltaFIFO) AddIfNotPresent(obj any) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return fmt.Errorf("only Deltas can be put back into a DeltaFIFO, not %T", obj)
	}
	key, err := f.key(deltas)
	if err != nil {
		return err
	}
	for _, d := range deltas {
		switch d.Type {
		case Added, Updated, Deleted, Replaced, Sync:
		default:
			return fmt.Errorf("a delta of type %q does not belong to one object", d.Type)
		}
	}
	return f.write(nil, func() []error {
		f.populated = true
		if _, ok := f.find(key); !ok {
			f.hold(key).deltas = slices.Clone(deltas)
		}
		return nil
	})
}

// Replace queues a Replaced or Sync delta for each object of list, and a
// Deleted one with a DeletedFinalStateUnknown for every other key that is in
// the queue or known. The error is a KeyError or the transformer's, and then nothing
// was queued.
func (f *DeltaFIFO) Replace(list []any, _ string) error {
	var keys []string
	var objs []any
	return f.write(func() (err error) { keys, objs, err = f.prepare(list); return err }, func() []error {
		listed := make(map[string]struct{}, len(keys))
		for i, key := range keys {
			listed[key] = struct{}{}
			f.append(key, Delta{Type: f.replaced, Object: objs[i]})
		}
		for el := f.order.Front(); el != nil; el = el.Next() {
			e := el.Value.(*entry)
			if _, ok := listed[e.key]; !ok {
				e.deltas = with(e.deltas, missed(e.key, e.deltas.Newest().Object))
			}
		}
		failed := f.eachKnown(f.queued, func(key string, obj any, _ bool) { f.append(key, missed(key, obj)) })
		f.markInitial()
		return failed
	})
}

func (f *DeltaFIFO) queued(key string) bool {
	_, ok := f.find(key)
	return ok
}

// Resync queues a Sync delta for every known object that has nothing queued.
func (f *DeltaFIFO) Resync() error {
	return f.write(nil, func() []error {
		return f.eachKnown(f.queued, func(key string, obj any, found bool) {
			if found {
				f.append(key, Delta{Type: Sync, Object: obj})
			}
		})
	})
}

// List returns the newest object of every key that waits, the next one first.
func (f *DeltaFIFO) List() []any {
	list := []any{}
	f.each(func(e *entry) { list = append(list, e.deltas.Newest().Object) })
	return list
}

// Get returns the Deltas that wait under obj's key, a copy. The error is a
// KeyError.
func (f *DeltaFIFO) Get(obj any) (item any, exists bool, err error) {
	key, err := f.key(obj)
	if err != nil {
		return nil, false, err
	}
	return f.GetByKey(key)
}

// GetByKey returns the Deltas that wait under key, a copy. There is no error.
func (f *DeltaFIFO) GetByKey(key string) (item any, exists bool, err error) {
	f.state.Lock()
	defer f.state.Unlock()
	if e, ok := f.find(key); ok {
		return slices.Clone(e.deltas), true, nil
	}
	return nil, false, nil
}

// latest returns the newest state that the queue or its consumers have under key.
func (f *DeltaFIFO) latest(key string) (any, bool) {
	f.state.Lock()
	e, ok := f.find(key)
	if !ok && f.flight != nil && f.flight.key == key {
		e, ok = f.flight, true
	}
	var newest *Delta
	if ok {
		newest = e.deltas.Newest()
	}
	f.state.Unlock()
	if newest == nil {
		return latestIn(f.known, key)
	}
	return newest.Object, newest.Type != Deleted
}

// Pop waits for a key, removes it from the queue and calls process with its
// Deltas, while writers to the queue are blocked. It returns the Deltas and
// process's error; ErrRequeue puts them back. It returns ErrFIFOClosed once the
// queue is closed and empty.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped any
	err := f.pop(func(e *entry) error {
		f.fly(e)
		defer f.fly(nil)
		deltas := slices.Clone(e.deltas)
		popped = deltas
		return process(deltas, e.initial)
	})
	return popped, err
}

func (f *DeltaFIFO) fly(e *entry) {
	f.state.Lock()
	defer f.state.Unlock()
	f.flight = e
}

// latestIn returns what known has under key. known may be nil.
func latestIn(known KeyGetter, key string) (any, bool) {
	if known == nil {
		return nil, false
	}
	obj, ok, err := known.GetByKey(key)
	return obj, ok && err == nil
}

// UndeltaStore is a Store that calls PushFunc with its whole contents after each
// successful write. The goroutine that wrote calls PushFunc, under no lock;
// after concurrent writes it may receive the same contents twice, and older ones
// after newer ones.
type UndeltaStore struct {
	Store
	PushFunc func([]any)
}

var _ Store = (*UndeltaStore)(nil)

// NewUndeltaStore returns an empty UndeltaStore.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// push returns a write's error, or passes the contents on if there is none.
func (u *UndeltaStore) push(err error) error {
	if err == nil {
		u.PushFunc(u.List())
	}
	return err
}

// Add stores an object.
func (u *UndeltaStore) Add(obj any) error { return u.push(u.Store.Add(obj)) }

// Update stores an object.
func (u *UndeltaStore) Update(obj any) error { return u.push(u.Store.Update(obj)) }

// Delete removes the object that has obj's key.
func (u *UndeltaStore) Delete(obj any) error { return u.push(u.Store.Delete(obj)) }

// Replace stores this and nothing else.
func (u *UndeltaStore) Replace(list []any, resourceVersion string) error {
	return u.push(u.Store.Replace(list, resourceVersion))
}
