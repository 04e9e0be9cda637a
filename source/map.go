package source

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"weak"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/internal/wire"
)

// Map returns a source of T that passes each object of src through transform.
// List and Watch call transform once for each object, before they yield it, and
// ReadAnswer calls it for the answers to writes, all on the caller's goroutine.
// transform is never called for two objects at once. It may modify and return
// its argument, which shares no memory with any other object: src is asked
// without Held.
//
// A transform that fails, panics or returns nil makes the item an *ItemError
// of StageTransform with the object's identity; for a Deleted event the key
// still says what is gone. The key is W's: T must be kept under the same one.
//
// # Sharing
//
// If T is a pointer to a struct (unstructured.Unstructured included), the
// objects that transform returns share structure: their slices, maps, pointers
// and strings are replaced by equal ones of the object's previous version or of
// other objects, in a copy of the value that contains them. An object that
// equals the held one is replaced by it. So a returned object must not be
// written to afterwards, not even by transform; the same slice or object may be
// returned many times. Functions, channels and interfaces with methods are left
// as they are, with all that contains them. So are unexported fields, and a
// struct that has any is not copied: a mutex stays where transform put it.
//
// Sharing costs about one comparison of the object with its previous version,
// and twice the encoding and hashing of what is new, on the goroutine that
// calls transform.
//
// src's Options decide on sharing: it uses Options.Sharing, or the default one
// if that is nil, and DisableSharing turns it off. A source of your own has the
// same fields in its Traits. A request without Held shares nothing.
func Map[W, T any](src Source[W], transform func(W) (T, error)) Source[T] {
	m := &mapped[W, T]{src: src, transform: transform}
	if t := src.Traits(); !t.DisableSharing {
		m.sharing = orDefault(t.Sharing)
	}
	return m
}

var errNilObject = errors.New("the transform returned nil and no error")

type mapped[W, T any] struct {
	src Source[W]
	// mu is held while a page, a batch or an answer is transformed, so that
	// transform is called for one object at a time.
	mu        sync.Mutex
	transform func(W) (T, error)
	// sharing is nil if nothing is to be shared.
	sharing *Sharing
	// spare, guarded by mu, is the Structure of the last batch. It is weak, so that a waiting
	// watch keeps no buffers.
	spare weak.Pointer[wire.Structure[T]]
}

func (m *mapped[W, T]) String() string { return m.src.String() }

// Traits implements Source. The source below is asked without Held, so it has
// nothing to share.
func (m *mapped[W, T]) Traits() Traits {
	t := m.src.Traits()
	t.Shared, t.Mapped = m.sharing, true
	t.CheckIndex, t.Reduce = nil, nil // the transform may set what is left out
	return t
}

// batch calls do, one call at a time, with the Structure for a batch, or nil if nothing is to
// be shared. A transform may end its goroutine, as t.FailNow does.
func (m *mapped[W, T]) batch(held Held[T], do func(*wire.Structure[T])) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held == nil || m.sharing == nil {
		do(nil)
		return
	}
	s := m.spare.Value()
	if s == nil {
		s = wire.NewStructure[T](m.sharing.table)
		m.spare = weak.Make(s)
	}
	do(s)
}

func (m *mapped[W, T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	wreq := ListRequest[W]{
		ResourceVersion: req.ResourceVersion,
		NotOlderThan:    req.NotOlderThan,
		Continue:        req.Continue,
		Limit:           req.Limit,
		Exact:           req.Exact,
		FieldSelector:   req.FieldSelector,
		Once:            req.Once,
		OnPath:          req.OnPath,
	}
	return m.src.List(ctx, wreq, func(page Page[W]) error {
		items := make([]Item[T], len(page.Items))
		if req.Exact {
			for i := range page.Items {
				items[i] = withoutObject[T](&page.Items[i])
			}
		} else {
			m.batch(req.Held, func(by *wire.Structure[T]) {
				for i := range page.Items {
					items[i] = m.item(&page.Items[i], req.Held, by)
				}
			})
		}
		return yield(Page[T]{
			Items:           items,
			ResourceVersion: page.ResourceVersion,
			Continue:        page.Continue,
			Remaining:       page.Remaining,
			More:            page.More,
			Bytes:           page.Bytes,
		})
	})
}

func (m *mapped[W, T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	wreq := WatchRequest[W]{
		ResourceVersion:   req.ResourceVersion,
		SendInitialEvents: req.SendInitialEvents,
		Timeout:           req.Timeout,
		OnPath:            req.OnPath,
		OnOpen:            req.OnOpen,
	}
	var batch []Event[T]
	return m.src.Watch(ctx, wreq, func(events []Event[W]) error {
		m.batch(req.Held, func(by *wire.Structure[T]) {
			for i := range events {
				e := &events[i]
				out := Event[T]{Type: e.Type, InitialEventsEnd: e.InitialEventsEnd, Bytes: e.Bytes}
				if e.Type.HasObject() {
					out.Item = m.item(&e.Item, req.Held, by)
				} else {
					out.Item = withoutObject[T](&e.Item)
				}
				batch = append(batch, out)
			}
		})
		err := yield(batch)
		batch = reuse(batch)
		return err
	})
}

// item transforms the object in it, and shares the result through by, unless
// that is nil.
func (m *mapped[W, T]) item(it *Item[W], held Held[T], by *wire.Structure[T]) Item[T] {
	out := withoutObject[T](it)
	if it.Err != nil {
		return out
	}
	obj, err := guard(func() (T, error) {
		meta, err := accessor(it.Object)
		partial := err == nil && IsPartial(meta)
		obj, err := m.transform(it.Object)
		if err == nil && isNil(obj) {
			err = errNilObject
		}
		if err == nil && partial && reflect.TypeOf(any(obj)) == reflect.TypeOf(any(it.Object)) {
			err = objectmeta.MarkPartial(obj) // it is no more whole than it was
		}
		return obj, err
	})
	if err != nil {
		return brokenItem[T](StageTransform, it.identity(), err)
	}
	if by != nil {
		var last wire.Last[T]
		last.Object, _, last.Held = held(it.Key)
		obj = by.Share(obj, last)
	}
	out.Object = obj
	return out
}
