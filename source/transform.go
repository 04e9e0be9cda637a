package source

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"weak"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/source/internal/fastpath"
)

// Map returns a source of T made from a source of W by transform, which is
// called once for each object, on the goroutine that lists or watches, before
// anybody else sees it, and by ReadAnswer, for the answers to writes, on its
// caller's goroutine; never for two objects at once. It may modify and return
// what it is given, which
// shares no memory with any other object: src is asked without Held.
//
// A transform that fails, panics or returns nil makes the item an *ItemError
// of StageTransform with the object's identity; for a Deleted event the key
// still says what is gone. The key is W's: T must be kept under the same one.
//
// # Sharing
//
// What transform returns is shared by structure if T is a pointer to a struct
// (to an unstructured.Unstructured as well): its slices, maps, pointers and
// strings are exchanged for equal ones of the object's last version or of
// other objects, in a copy of what contains them, and an object that equals
// the one that is held is that one. So nothing that was returned may be
// written to afterwards, by transform neither; the same slice or object may be
// returned many times. Functions, channels and interfaces with methods are
// taken as they are, with all that contains them. So are fields that are not
// exported, and a struct that has any is not copied: a mutex stays where
// transform put it.
//
// It costs about what it costs to compare the object with its last version,
// and twice what it costs to encode and hash what is new, on the goroutine
// that calls transform.
//
// Sharing follows src's Options: through Options.Sharing, or DefaultSharing if
// that is nil, and not at all with DisableSharing. A source of your own has the
// same in its Traits. A request without Held shares nothing.
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
	// spare is what shared the last batch. It is weak, so that a watch that
	// waits has no buffers.
	spare weak.Pointer[fastpath.Structure[T]]
}

func (m *mapped[W, T]) String() string { return m.src.String() }

// Traits implements Source. The source below is asked without Held, so it has
// nothing to share.
func (m *mapped[W, T]) Traits() Traits[T] {
	src := m.src.Traits()
	t := Traits[T]{
		NoWatchList: src.NoWatchList, Sharing: src.Sharing, DisableSharing: src.DisableSharing,
		Latest: src.Latest, Next: src.Next,
		Resource: src.Resource, Requested: src.Requested,
		Shared: func() *Sharing { return m.sharing },
	}
	if src.Sample != nil {
		t.Sample = m.sample
	}
	if src.ReadAnswer != nil {
		t.ReadAnswer = m.readAnswer
	}
	return t
}

// structure returns what shares a batch, or nil if nothing is to be shared.
func (m *mapped[W, T]) structure(held Held[T]) *fastpath.Structure[T] {
	if held == nil || m.sharing == nil {
		return nil
	}
	s := m.spare.Value()
	if s == nil {
		s = fastpath.NewStructure[T](m.sharing.table)
		m.spare = weak.Make(s)
	}
	return s
}

func (m *mapped[W, T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	wreq := ListRequest[W]{
		ResourceVersion: req.ResourceVersion,
		NotOlderThan:    req.NotOlderThan,
		Continue:        req.Continue,
		Limit:           req.Limit,
		Once:            req.Once,
		OnPath:          req.OnPath,
	}
	return m.src.List(ctx, wreq, func(page Page[W]) error {
		items := make([]Item[T], len(page.Items))
		by := m.structure(req.Held)
		m.mu.Lock()
		for i := range page.Items {
			items[i] = m.item(&page.Items[i], req.Held, by)
		}
		m.mu.Unlock()
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
	}
	var batch []Event[T]
	return m.src.Watch(ctx, wreq, func(events []Event[W]) error {
		by := m.structure(req.Held)
		m.mu.Lock()
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
		m.mu.Unlock()
		err := yield(batch)
		batch = reuse(batch)
		return err
	})
}

// item transforms what it holds, and shares the result by the last argument,
// unless that is nil.
func (m *mapped[W, T]) item(it *Item[W], held Held[T], by *fastpath.Structure[T]) Item[T] {
	out := withoutObject[T](it)
	if it.Err != nil {
		return out
	}
	obj, err := guard(func() (T, error) { return m.transform(it.Object) })
	if err == nil && isNil(obj) {
		err = errNilObject
	}
	if err != nil {
		return brokenItem[T](StageTransform, encoding.Identity{Key: it.Key, UID: it.UID, Version: it.ResourceVersion}, err)
	}
	if by != nil {
		var last fastpath.Last[T]
		last.Object, _, last.Held = held(it.Key)
		obj = by.Share(obj, last)
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
