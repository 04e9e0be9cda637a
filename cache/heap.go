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
	filled sync.Cond // of mu: there is an object, or closed is set
	data   heapData  // guarded by mu
	closed bool      // guarded by mu
}

var (
	errHeapClosed   = errors.New("heap is closed")
	errHeapNotFound = errors.New("object not found")
)

// NewHeap returns an empty Heap.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap {
	h := &Heap{keyFunc: keyFn, data: heapData{less: lessFn, byKey: map[string]*heapItem{}}}
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
	keys, err := queueKeys(list, h.key)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errHeapClosed
	}
	for i, key := range keys {
		item, ok := h.data.byKey[key]
		switch {
		case !ok:
			heap.Push(&h.data, &heapItem{key: key, obj: list[i]})
		case replace:
			item.obj = list[i]
			heap.Fix(&h.data, item.index)
		}
	}
	h.filled.Broadcast()
	return nil
}

func (h *Heap) key(obj any) (string, error) { return keyOf(h.keyFunc, obj) }

// Delete removes the object that has obj's key. It fails if there is none.
func (h *Heap) Delete(obj any) error {
	key, err := h.key(obj)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	item, ok := h.data.byKey[key]
	if !ok {
		return errHeapNotFound
	}
	heap.Remove(&h.data, item.index)
	return nil
}

// Pop removes the least object and returns it. It blocks until there is one,
// and fails if there is none and the Heap is closed.
func (h *Heap) Pop() (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.data.Len() == 0 {
		if h.closed {
			return nil, errHeapClosed
		}
		h.filled.Wait()
	}
	return heap.Pop(&h.data).(*heapItem).obj, nil
}

// List returns all objects, in no particular order.
func (h *Heap) List() []any {
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := make([]any, 0, h.data.Len())
	for _, item := range h.data.items {
		list = append(list, item.obj)
	}
	return list
}

// ListKeys returns all keys, in no particular order.
func (h *Heap) ListKeys() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	keys := make([]string, 0, h.data.Len())
	for _, item := range h.data.items {
		keys = append(keys, item.key)
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
	if item, ok := h.data.byKey[key]; ok {
		return item.obj, true, nil
	}
	return nil, false, nil
}

type heapItem struct {
	key   string
	obj   any
	index int // in heapData.items
}

// heapData is what container/heap works on.
type heapData struct {
	less  LessFunc
	items []*heapItem
	byKey map[string]*heapItem
}

func (d *heapData) Len() int           { return len(d.items) }
func (d *heapData) Less(i, j int) bool { return d.less(d.items[i].obj, d.items[j].obj) }

func (d *heapData) Swap(i, j int) {
	d.items[i], d.items[j] = d.items[j], d.items[i]
	d.items[i].index, d.items[j].index = i, j
}

// Push implements heap.Interface.
func (d *heapData) Push(added any) {
	item := added.(*heapItem)
	item.index = len(d.items)
	d.items, d.byKey[item.key] = append(d.items, item), item
}

// Pop implements heap.Interface.
func (d *heapData) Pop() any {
	last := len(d.items) - 1
	item := d.items[last]
	d.items[last] = nil
	d.items = d.items[:last]
	delete(d.byKey, item.key)
	return item
}
