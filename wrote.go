package kinglet

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/overlay"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Wrote tells the informer what the server answered a create, an update, a patch
// or an apply with. From then on every read of the informer includes it
// (guarantee 12): Get, indexes, lists, counts and order, of Store and Snapshot.
// Nobody waits. Handlers are told by the watch alone, when it comes to it; what
// it tells then is marked as OwnEcho.
//
// A read includes the object until the watch or a list has passed its version. If
// that takes longer than two minutes, or the server begins to number anew, reads
// include it no more, and OnError is told with an *UnconfirmedWriteError. An
// answer that comes late changes nothing: if the watch has passed its version, or
// the informer was told of something newer, or the object was deleted since.
// Answers may come in any order, and be told more than once.
//
// The object is of the type that the source decodes. It is copied, and goes the
// way of an object that the watch brings: what the source drops is dropped, and a
// Map transforms it. If that makes another type of it, use WroteDecoded. An object
// that the write took out of the informer's label selector is removed from reads
// if they had it. One whose deletion is complete with the write, because that
// removed the last finalizer, counts as deleted.
//
// Tell nothing of a dry run: it looks like any other answer. Nor of subresources
// that answer with another type, such as scale and eviction. [OwnWrites] knows all
// this, and tells informers of everything that goes through a client.
//
// Errors name the informer and the object, and nothing has changed then:
//
//   - ErrNotCovered, if the object is of another namespace; or if the key is new
//     and only the server can say whether the informer's selectors cover it, as for
//     a field selector beyond metadata.name and metadata.namespace, and for closures,
//     which may narrow what they list. Options.Covers can say it, too. Nothing is
//     wrong then, but reads will not have the object before the watch.
//   - ErrNoVersion, a *KindError or a *KeyError, if it is no object of the
//     collection as a server answers with it, and an *ItemError, if the transform
//     refuses it.
//   - ErrNotRunning before Run, ErrStopped after it. Reads stay as they were then.
//
// Where resource versions have no order (KEP-5504), reads include the object until
// the next change of its key, whatever that is, and a late answer may be shown
// until then.
//
// It costs a copy of the object, and is safe for concurrent use.
func (i *Informer[T]) Wrote(obj T) error { return i.wrote(source.Answer{Object: obj}, keyOfAny(obj)) }

// WroteDecoded is Informer.Wrote for an informer of T whose source is a
// source.Map from another type: obj is what the client decoded.
func WroteDecoded[W, T any](i *Informer[T], obj W) error {
	return i.wrote(source.Answer{Object: obj}, keyOfAny(obj))
}

// WroteDelete tells the informer that the server has deleted an object: the
// answer was a Status, or the object as it was last. No read shows the object
// with this UID from then on; another one under the same key is shown. A delete
// that only marks the object, which has finalizers or ends gracefully, is
// answered with the object: tell that to Wrote.
//
// The UID is in the details of the Status that is answered, and in any state of
// the object. If it is empty, what reads show under the key is meant, and the
// error is ErrUnknownKey if that is nothing. What else holds of Wrote holds here,
// of errors and of the end: a delete is confirmed when the object is gone from the
// store. WroteDelete is safe for concurrent use.
func (i *Informer[T]) WroteDelete(key Key, uid types.UID) error {
	if key.Name == "" {
		return i.notWritten(key, &store.KeyError{Object: "a delete", Err: errors.New("the key has no name")})
	}
	return i.notWritten(key, i.own.Removed(overlay.Removal{Key: key, UID: uid, Time: time.Now()}))
}

// notWritten says which write it is about.
func (i *Informer[T]) notWritten(key Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("informer of %s: own write of %s: %w", i.opts.Name, key, err)
}

// wrote tells of an answer to a write.
func (i *Informer[T]) wrote(a source.Answer, key Key) error {
	if err := i.own.Running(); err != nil {
		return i.notWritten(key, err)
	}
	written, err := source.ReadAnswer(i.source, a)
	if errors.Is(err, source.ErrNoAnswers) && a.Object != nil {
		written, err = i.asWritten(a.Object)
	}
	if err != nil {
		return i.notWritten(key, err)
	}
	key = written.Key
	if written.ResourceVersion == "" {
		return i.notWritten(key, ErrNoVersion)
	}
	if written.Gone {
		return i.notWritten(key, i.own.Removed(overlay.Removal{Key: key, UID: written.UID, Time: time.Now()}))
	}
	if is, err := i.opts.KeyFunc(written.Object); err != nil || is != key {
		if err == nil {
			err = fmt.Errorf("it is %s", is)
		}
		return i.notWritten(key, &store.KeyError{Object: fmt.Sprintf("a %T", written.Object), Err: err})
	}
	if written.Coverage == source.CoverageUnknown && i.opts.Covers != nil {
		written.Coverage = source.NotCovered
		if i.opts.Covers(written.Object) {
			written.Coverage = source.Covered
		}
	}
	return i.notWritten(key, i.own.Wrote(overlay.Write[T]{
		Key: key, UID: i.opts.UID(written.Object), Version: written.ResourceVersion, Object: written.Object, Time: time.Now(),
	}, written.Coverage))
}

// asWritten is what becomes of an object whose source cannot say it.
func (i *Informer[T]) asWritten(answer any) (w source.Written[T], err error) {
	obj, ok := answer.(T)
	if !ok {
		return w, fmt.Errorf("%w, and this is a %T", source.ErrNoAnswers, answer)
	}
	if o, ok := answer.(runtime.Object); ok {
		if obj, ok = o.DeepCopyObject().(T); !ok {
			return w, fmt.Errorf("a copy of a %T is another type", answer)
		}
	}
	w.Object = obj
	w.ResourceVersion, w.UID = objectVersion(obj), i.opts.UID(obj)
	if w.Key, err = i.opts.KeyFunc(obj); err != nil {
		err = &store.KeyError{Object: fmt.Sprintf("a %T", obj), Err: err}
	}
	return w, err
}

// keyOfAny is what an object calls itself, for errors about it.
func keyOfAny(obj any) (key Key) {
	defer func() { _ = recover() }() // a nil pointer has no name
	if m, ok := obj.(metav1.Object); ok {
		key = Key{Namespace: m.GetNamespace(), Name: m.GetName()}
	}
	return key
}

// unconfirmed returns the error of a write that ended without having been seen.
func (i *Informer[T]) unconfirmed(u overlay.Unconfirmed, why error) error {
	return &UnconfirmedWriteError{Name: i.opts.Name, Key: u.Key, UID: u.UID, ResourceVersion: u.Version, Told: u.Since, Err: why}
}

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
	err := i.own.Wait(ctx, rv)
	if err == nil {
		return nil
	}
	return &VersionNotReachedError{Name: i.opts.Name, Want: rv, At: i.own.Version(), Err: err}
}
