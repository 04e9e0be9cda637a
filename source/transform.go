package source

import (
	"context"
	"errors"
	"reflect"
)

// Map returns a source of T made from a source of W by transform, which is
// called once for each object, on the goroutine that lists or watches, before
// anybody else sees it. It may modify and return what it is given.
//
// A transform that fails, panics or returns nil makes the item an *ItemError
// of StageTransform with the object's identity; for a Deleted event the key
// still says what is gone. The key is W's: T must be kept under the same one.
//
// src is asked without Held. What a sink holds are Ts, of which a decoder of
// Ws can make nothing; and since a transform may modify what it gets, that
// must share nothing with anything.
func Map[W, T any](src Source[W], transform func(W) (T, error)) Source[T] {
	return &mapped[W, T]{src: src, transform: transform}
}

var errNilObject = errors.New("the transform returned nil and no error")

type mapped[W, T any] struct {
	src       Source[W]
	transform func(W) (T, error)
}

func (m *mapped[W, T]) String() string { return m.src.String() }

// WatchListUnsupported passes on what the source says.
func (m *mapped[W, T]) WatchListUnsupported() bool { return watchListUnsupported(m.src) }

func (m *mapped[W, T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	wreq := ListRequest[W]{
		ResourceVersion: req.ResourceVersion,
		NotOlderThan:    req.NotOlderThan,
		Continue:        req.Continue,
		Limit:           req.Limit,
	}
	return m.src.List(ctx, wreq, func(page Page[W]) error {
		items := make([]Item[T], len(page.Items))
		for i := range page.Items {
			items[i] = m.item(&page.Items[i])
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
	}
	var batch []Event[T]
	return m.src.Watch(ctx, wreq, func(events []Event[W]) error {
		for i := range events {
			e := &events[i]
			out := Event[T]{Type: e.Type, InitialEventsEnd: e.InitialEventsEnd, Bytes: e.Bytes}
			if e.Type.HasObject() {
				out.Item = m.item(&e.Item)
			} else {
				out.Item = withoutObject[T](&e.Item)
			}
			batch = append(batch, out)
		}
		err := yield(batch)
		batch = reuse(batch)
		return err
	})
}

func (m *mapped[W, T]) item(it *Item[W]) Item[T] {
	out := withoutObject[T](it)
	if it.Err != nil {
		return out
	}
	obj, err := guard(func() (T, error) { return m.transform(it.Object) })
	if err == nil && isNil(obj) {
		err = errNilObject
	}
	if err != nil {
		return brokenItem[T](StageTransform, identity{key: it.Key, uid: it.UID, version: it.ResourceVersion}, err)
	}
	out.Object = obj
	return out
}

// withoutObject leaves behind the object, and the memo that belongs to it.
func withoutObject[T, W any](it *Item[W]) Item[T] {
	return Item[T]{Key: it.Key, UID: it.UID, ResourceVersion: it.ResourceVersion, Err: it.Err}
}

func isNil[T any](obj T) bool {
	v := reflect.ValueOf(any(obj))
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return v.IsNil()
	}
	return false
}
