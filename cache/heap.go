package cache

import (
	"container/heap"
	"errors"
	"sync"
)

// Heap is a queue that pops the least object first, by a LessFunc, and holds
// one object a key. It has no bound.
//
// All methods are safe for concurrent use. Adding, deleting and popping cost
// O(log n) calls of the LessFunc. They are made under the Heap's lock, so the
// LessFunc must not use the Heap.
type Heap struct {
	keyFunc KeyFunc

	mu     sync.RWMutex
	filled sync.Cond            // of mu: there is an object, or closed is set
	items  map[string]*heapItem // guarded by mu
	order  heapOrder            // guarded by mu; holds what items does
	closed bool                 // guarded by mu
}

var (
	errHeapClosed   = errors.New("heap is closed")
	errHeapNotFound = errors.New("object not found")
)

// NewHeap returns an empty Heap.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap {
	h := &Heap{keyFunc: keyFn, items: map[string]*heapItem{}, order: heapOrder{less: lessFn}}
	h.filled.L = &h.mu
	return h
}

// Close closes the Heap: Pop returns the remaining objects and then fails, and
// nothing can be added any more.
func (h *Heap) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.filled.Broadcast()
}

// IsClosed reports whether Close was called.
func (h *Heap) IsClosed() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.closed
}

// Add adds an object and replaces any that has its key. It fails if the object
// has no key, or the Heap is closed.
func (h *Heap) Add(obj any) error { return h.add([]any{obj}, true) }

// Update is Add.
func (h *Heap) Update(obj any) error { return h.Add(obj) }

// BulkAdd is Add for several objects. None of them is popped before all are
// added. If one has no key, none is added.
func (h *Heap) BulkAdd(list []any) error { return h.add(list, true) }

// AddIfNotPresent adds an object unless its key is there. It is for retrying a
// failed object unless a newer one has come.
func (h *Heap) AddIfNotPresent(obj any) error { return h.add([]any{obj}, false) }

func (h *Heap) add(list []any, replace bool) error {
	keys := make([]string, len(list))
	for i, obj := range list {
		var err error
		if keys[i], err = h.key(obj); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errHeapClosed
	}
	for i, key := range keys {
		item, ok := h.items[key]
		switch {
		case !ok:
			item = &heapItem{key: key, obj: list[i]}
			h.items[key] = item
			heap.Push(&h.order, item)
		case replace:
			item.obj = list[i]
			heap.Fix(&h.order, item.index)
		}
	}
	h.filled.Broadcast()
	return nil
}

func (h *Heap) key(obj any) (string, error) {
	key, err := h.keyFunc(obj)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// Delete removes the object that has obj's key. It fails if there is none.
func (h *Heap) Delete(obj any) error {
	key, err := h.key(obj)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	item, ok := h.items[key]
	if !ok {
		return errHeapNotFound
	}
	heap.Remove(&h.order, item.index)
	delete(h.items, key)
	return nil
}

// Pop removes the least object and returns it. It blocks until there is one,
// and fails if there is none and the Heap is closed.
func (h *Heap) Pop() (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.order.items) == 0 {
		if h.closed {
			return nil, errHeapClosed
		}
		h.filled.Wait()
	}
	item := heap.Pop(&h.order).(*heapItem)
	delete(h.items, item.key)
	return item.obj, nil
}

// List returns all objects, in no particular order.
func (h *Heap) List() []any {
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := make([]any, len(h.order.items))
	for i, item := range h.order.items {
		list[i] = item.obj
	}
	return list
}

// ListKeys returns all keys, in no particular order.
func (h *Heap) ListKeys() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	keys := make([]string, len(h.order.items))
	for i, item := range h.order.items {
		keys[i] = item.key
	}
	return keys
}

// Get returns the object that has obj's key.
func (h *Heap) Get(obj any) (any, bool, error) {
	key, err := h.key(obj)
	if err != nil {
		return nil, false, err
	}
	return h.GetByKey(key)
}

// GetByKey returns the object under a key. The error is always nil.
func (h *Heap) GetByKey(key string) (any, bool, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if item, ok := h.items[key]; ok {
		return item.obj, true, nil
	}
	return nil, false, nil
}

type heapItem struct {
	key   string
	obj   any
	index int // in heapOrder.items
}

// heapOrder is what container/heap works on.
type heapOrder struct {
	less  LessFunc
	items []*heapItem
}

func (o *heapOrder) Len() int           { return len(o.items) }
func (o *heapOrder) Less(i, j int) bool { return o.less(o.items[i].obj, o.items[j].obj) }

func (o *heapOrder) Swap(i, j int) {
	o.items[i], o.items[j] = o.items[j], o.items[i]
	o.items[i].index, o.items[j].index = i, j
}

func (o *heapOrder) Push(item any) {
	i := item.(*heapItem)
	i.index = len(o.items)
	o.items = append(o.items, i)
}

func (o *heapOrder) Pop() any {
	last := len(o.items) - 1
	item := o.items[last]
	o.items[last] = nil
	o.items = o.items[:last]
	return item
}
