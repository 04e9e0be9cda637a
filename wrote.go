package kinglet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Wrote records the server's answer to a create, an update, a patch or an apply. From
// then on every read of the informer includes the object (guarantee 12): Get, indexes,
// lists, counts and order, of Store and Snapshot. Wrote does not wait. Handlers get the
// change from the watch alone, marked as OwnEcho. A write that changed nothing is answered
// with the version of another's: then that change is marked, of which the program knows.
//
// Reads include the object until the watch or a list has passed its version. If that
// takes longer than two minutes, or the server begins to number anew, reads no longer
// include it, and OnError is called with an *UnconfirmedWriteError. A late answer
// changes nothing: the watch has passed its version, something newer was recorded, or
// the object was deleted since. Answers may be recorded in any order, and more than
// once.
//
// The object must be of the type that the source decodes. It is copied, and treated
// like an object of the watch: dropped fields are dropped, and a Map transforms it. If
// the Map makes another type of it, use WroteDecoded. An object that the write removed
// from the informer's label selector is removed from reads. An object whose last
// finalizer the write removed counts as deleted.
//
// Do not record the answer to a dry run, which looks like any other, nor that of a
// subresource that answers with another type, such as scale and eviction. [OwnWrites]
// leaves these out, and records everything else that goes through a client.
//
// If Wrote returns an error, which names the informer and the object, no read has
// changed:
//
//   - ErrNotCovered, if the object is in another namespace, or in no scope of the
//     informer's sources; or if only the server knows whether the informer's selectors
//     cover it: the object does not have the field of a field selector, or zero or a type
//     with an encoder of its own there, or the key is new and the source is made of
//     closures, which may narrow what they list. Then reads will not have the object before
//     the watch does; [Informer.AwaitOwnWrites] waits for that.
//   - ErrNoVersion, a *KindError or a *KeyError, if no server answers with such an
//     object of the collection, and an *ItemError, if the transform refuses it.
//   - ErrNotRunning before Run, ErrStopped after it. Reads stay as they were then.
//
// Where resource versions have no order (KEP-5504), reads include the object until
// the next change of its key, whatever that is, and a late answer may be shown
// until then.
//
// Wrote costs a copy of the object, and time in proportion to the writes that the watch
// has not shown, as does a read by index. It is safe for concurrent use.
func (i *Informer[T]) Wrote(obj T) error {
	return i.wrote(source.Answer{Object: obj}, keyOfAny(obj), &clientWrite{told: true})
}

// WroteDecoded is Informer.Wrote for an informer of T whose source is a
// source.Map from another type: obj is what the client decoded.
func WroteDecoded[W, T any](i *Informer[T], obj W) error {
	return i.wrote(source.Answer{Object: obj}, keyOfAny(obj), &clientWrite{told: true})
}

// WroteDelete records that the server has deleted an object: it answered with a Status,
// or with the object's last state. From then on no read shows the object with this UID;
// another object under the same key is shown. If a delete only marks the object, which
// has finalizers or ends gracefully, the answer is the object: record that with Wrote.
//
// The UID is in the details of the Status, and in any state of the object. If it is
// empty, the object that reads show under the key is meant, and the error is
// ErrUnknownKey if there is none. Otherwise errors, and how long the write is in reads,
// are as with Wrote; a delete is confirmed when the object is gone from the store.
// WroteDelete is safe for concurrent use.
//
// The informer may hold another object under the key, and never have seen the deleted
// one. It cannot know which of the two is older: reads show what the watch has shown,
// and [Informer.AwaitOwnWrites] waits until it has shown more.
func (i *Informer[T]) WroteDelete(key Key, uid types.UID) error {
	if key.Name == "" {
		return i.notWritten(key, &store.KeyError{Object: "a delete", Err: errors.New("the key has no name")})
	}
	return i.notWritten(key, i.removed(key, own.Removal{UID: uid}))
}

// removed records that an object is gone, or about to go.
func (i *Informer[T]) removed(key Key, m own.Removal) error {
	m.Key, m.Time = key, time.Now()
	if err := i.own.Noticed(m.Time); err != nil {
		return err
	}
	return i.own.Removed(m)
}

// errNoSourceOf means that a key is in no scope.
var errNoSourceOf = fmt.Errorf("%w: none of the informer's sources speaks for it", ErrNotCovered)

// notWritten adds the informer and the key of a write to err.
func (i *Informer[T]) notWritten(key Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("informer of %s: own write of %s: %w", i.opts.Name, key, err)
}

// wrote records an answer to a write.
func (i *Informer[T]) wrote(a source.Answer, key Key, by *clientWrite) error {
	now := time.Now()
	if err := i.own.Noticed(now); err != nil {
		return i.notWritten(key, err)
	}
	written, err := i.readAnswer(a, key)
	if err != nil {
		return i.notWritten(key, err)
	}
	key = written.Key
	if written.ResourceVersion == "" {
		return i.notWritten(key, ErrNoVersion)
	}
	if written.Gone {
		return i.notWritten(key, i.own.Removed(own.Removal{
			Key: key, UID: written.UID, Version: written.ResourceVersion, Sent: by.sent, Time: now,
		}))
	}
	w := own.Write[T]{
		Key: key, UID: written.UID, Version: written.ResourceVersion, Object: written.Object, Unread: written.Unread,
		Sent: by.sent, Time: now, Made: by.madeVersion(written.ResourceVersion), From: by.from,
	}
	if !w.Unread {
		w.UID = cmp.Or(i.opts.UID(written.Object), written.UID) // a transform may have left it out
		is, err := i.store.KeyOf(written.Object)
		if err == nil && is != key {
			err = &store.KeyError{Object: fmt.Sprintf("a %T", written.Object), Err: fmt.Errorf("it is %s", is)}
		}
		if err != nil {
			return i.notWritten(key, err)
		}
	}
	return i.notWritten(key, i.own.Wrote(w, written.Coverage))
}

// readAnswer reads the answer to a write with the source of its key, which may be another
// key than that of the answer.
func (i *Informer[T]) readAnswer(a source.Answer, key Key) (w source.Written[T], err error) {
	if v := reflect.ValueOf(a.Object); v.Kind() == reflect.Pointer && v.IsNil() {
		return w, fmt.Errorf("a nil %T", a.Object)
	}
	if obj, ok := a.Object.(T); ok {
		// The key of the store need not be that of the metadata.
		if is, err := i.store.KeyOf(obj); err == nil {
			key = is
		}
	}
	// The source of that key may make another key of the answer.
	for range 2 {
		src := i.sources.sourceOf(key)
		if src == nil {
			return w, errNoSourceOf
		}
		if w, err = source.ReadAnswer(src.Source, a); errors.Is(err, source.ErrNoAnswers) && a.Object != nil {
			w, err = i.asWritten(a.Object)
		}
		if err != nil {
			return w, err
		}
		if src.Scope.Has(w.Key) {
			return w, nil
		}
		key = w.Key
	}
	return w, errNoSourceOf
}

// asWritten returns the write of an object if its source cannot read answers.
func (i *Informer[T]) asWritten(answer any) (w source.Written[T], err error) {
	obj, ok := answer.(T)
	if !ok {
		return w, fmt.Errorf("%w, and this is a %T", source.ErrNoAnswers, answer)
	}
	if o, ok := answer.(runtime.Object); ok {
		c, err := official.Copy(o)
		if err != nil {
			return w, err
		}
		obj = c.(T)
	}
	w.Object = obj
	w.ResourceVersion, w.UID = objectVersion(obj), i.opts.UID(obj)
	w.Key, err = i.store.KeyOf(obj)
	return w, err
}

// keyOfAny returns the key in an object's metadata, for errors about it.
func keyOfAny(obj any) (key Key) {
	defer func() { _ = recover() }() // a nil pointer has no name
	if m, ok := obj.(metav1.Object); ok {
		key = Key{Namespace: m.GetNamespace(), Name: m.GetName()}
	}
	return key
}

// unconfirmed returns the error of a write that ended without having been seen.
func (i *Informer[T]) unconfirmed(u own.Unconfirmed, why error) error {
	return &UnconfirmedWriteError{Name: i.opts.Name, Key: u.Key, UID: u.UID, ResourceVersion: u.Version, Since: u.Since, Err: why}
}

// AwaitOwnWrites blocks until reads of a key include the program's own writes; those of
// a namespace if the key has no name, and all of them for the zero Key. It returns at
// once, and costs two loads, unless there is a write under the key that the informer
// cannot show of its own accord, because the answer did not tell what it left in the
// collection: see Wrote, WroteDelete and OwnWrites. Store and Snapshot never wait.
//
// It waits until the watch has shown the write, for at most ten seconds, and starts no
// goroutine. The error is a *WriteNotSeenError, which wraps ErrNotShown, the cause of
// ctx, or ErrStopped. It is safe for concurrent use.
func (i *Informer[T]) AwaitOwnWrites(ctx context.Context, key Key) error {
	missing, err := i.own.AwaitWrites(ctx, key)
	if err == nil {
		return nil
	}
	return &WriteNotSeenError{Name: i.opts.Name, Key: missing.Key, ResourceVersion: missing.Version, Since: missing.Since, Err: err}
}

// OwnWritesUnsure reports whether AwaitOwnWrites may wait for some key. It costs a load.
func (i *Informer[T]) OwnWritesUnsure() bool { return i.own.Unsure() }

// WaitVersion blocks until store and indexes are at resource version rv of the
// collection or a later one, as events, bookmarks and lists deliver it. It starts no
// goroutine and does not poll. It is for writes of others, such as a version that
// another program passed on; the program's own writes need no wait: see Wrote.
//
// A server's version counts the writes to all of its resources, and a quiet collection
// learns it from bookmarks, once a minute: a wait for the version of a write to
// something else may take that long.
//
// If ctx ends first the error is a *VersionNotReachedError, which names both
// versions. It wraps ErrStopped if the informer stops first, ErrEpoch if the
// server begins to number anew, and ErrNotComparable if rv, or the collection's
// own version, has no order. WaitVersion is safe for concurrent use and may be
// called before Run, and in handlers, which it delays.
//
// An informer of several sources waits for each of them, because one server's versions
// count for all of its namespaces. It also waits for a source that is added meanwhile,
// and no longer for one that is removed. [Informer.WaitSourceVersion] waits for one.
func (i *Informer[T]) WaitVersion(ctx context.Context, rv string) error {
	behind, err := i.own.Wait(ctx, rv)
	return i.notReached(behind, rv, err)
}

// notReached adds the informer and what was waited for to err.
func (i *Informer[T]) notReached(scope, rv string, err error) error {
	if err == nil {
		return nil
	}
	return &VersionNotReachedError{Name: i.opts.Name, Scope: scope, Want: rv, At: i.own.Version(scope), Err: err}
}
