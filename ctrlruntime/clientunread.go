package ctrlruntime

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

const (
	// defaultWaitForWrites is Options.WaitForWrites if that is 0.
	defaultWaitForWrites = 10 * time.Second
	// forgetUnread is how long reads wait for a write that does not come: as long as
	// kinglet keeps an unconfirmed write in reads.
	forgetUnread = 2 * time.Minute
	// maxUnread bounds the writes of a kind and form that reads wait for: 16,384 take
	// about 2 MB. Beyond it, reads stop waiting for the oldest.
	maxUnread = 1 << 14
)

// WriteNotSeenError reports that a read waited for a write of the program that did not
// come. The reads of a kind in this form cannot include the write before the watch
// shows it.
type WriteNotSeenError struct {
	// Kind is the kind and form that was read.
	Kind string
	// Key is the object that was written.
	Key client.ObjectKey
	// Version is the resource version of the write.
	Version string
	// Err is why the wait ended.
	Err error
}

// Error implements error.
func (e *WriteNotSeenError) Error() string {
	return fmt.Sprintf("%s: the watch has not shown this program's write of %s at version %s: %v (write it in the form in which it is read, and it is read at once)",
		e.Kind, e.Key, e.Version, e.Err)
}

// Unwrap returns why the wait ended.
func (e *WriteNotSeenError) Unwrap() error { return e.Err }

// unreadWrite is a write that an informer has not recorded.
type unreadWrite struct {
	key kinglet.Key
	// uid is the UID of a deleted object. It may be empty.
	uid types.UID
	// version is the resource version of the write or, for a deleted object, one at
	// which it existed, which may be empty.
	version string
	deleted bool
	// covered is set if the informer covers the object, judging by its metadata.
	covered bool
	since   time.Time
}

// unreadWrites are the writes of one kind in one form that reads wait for.
type unreadWrites struct {
	// any is set while there are writes.
	any atomic.Bool

	mu sync.Mutex
	// What follows is guarded by mu.

	// writes are in the order in which they were made.
	writes []*unreadWrite
	// prune is the number of writes from which add checks them, in case nobody reads.
	prune int
}

// pruneFrom is the smallest number of writes that add checks: checking fewer costs less
// than the write did.
const pruneFrom = 64

// add adds writes. It returns the surplus, which is given up to make room, and those
// that are due for a check whether they are shown.
func (u *unreadWrites) add(writes ...*unreadWrite) (surplus, due []*unreadWrite) {
	if len(writes) == 0 {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.writes) >= max(u.prune, pruneFrom) {
		due = slices.Clone(u.writes)
		u.prune = 2 * len(due)
	}
	u.writes = append(u.writes, writes...)
	if n := len(u.writes) - maxUnread; n > 0 {
		surplus = slices.Clone(u.writes[:n])
		u.writes = slices.Delete(u.writes, 0, n)
	}
	u.any.Store(true)
	return surplus, due
}

// remove removes a write, and reports whether it was there.
func (u *unreadWrites) remove(write *unreadWrite) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.Index(u.writes, write)
	if i < 0 {
		return false
	}
	u.writes = slices.Delete(u.writes, i, i+1)
	u.any.Store(len(u.writes) > 0)
	if u.prune > 2*len(u.writes) {
		u.prune = 2 * len(u.writes)
	}
	return true
}

// of returns the writes that concern a key; without a name, a namespace; without both,
// all.
func (u *unreadWrites) of(key kinglet.Key) []*unreadWrite {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []*unreadWrite
	for _, w := range u.writes {
		inNamespace := key.Namespace == "" && key.Name == "" || w.key.Namespace == key.Namespace
		if inNamespace && (key.Name == "" || w.key.Name == key.Name) {
			all = append(all, w)
		}
	}
	return all
}

// waitForWrites blocks until the informer shows the unread writes that concern a key,
// or, without a name, a namespace or all objects.
func (h *holding) waitForWrites(ctx context.Context, key kinglet.Key, bound time.Duration) error {
	if bound == 0 {
		bound = defaultWaitForWrites
	}
	if !h.namespaced() {
		key.Namespace = ""
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for _, w := range h.unread.of(key) {
		if err := h.waitForWrite(ctx, w); err != nil {
			return &WriteNotSeenError{Kind: describe(h.gvk, h.form), Key: client.ObjectKey{Namespace: w.key.Namespace, Name: w.key.Name}, Version: w.version, Err: err}
		}
	}
	return nil
}

// waitForWrite blocks until the informer shows a write, or it is certain that it never
// will.
func (h *holding) waitForWrite(ctx context.Context, w *unreadWrite) error {
	left := time.Until(w.since.Add(forgetUnread))
	if left <= 0 {
		h.giveUp(w)
		return nil
	}
	lives, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	for {
		version, shown := h.shows(w)
		if shown {
			break
		}
		err := h.waitVersion(lives, w.key, version)
		switch {
		case ctx.Err() != nil:
			return err
		case lives.Err() != nil:
			h.giveUp(w)
			return nil
		}
		if err != nil {
			// It never will: the namespace was removed, the informer has ended, or its
			// versions have no order or begin anew.
			break
		}
	}
	h.unread.remove(w)
	return nil
}

// waitVersion waits until the scope of a key reaches a version.
func (h *holding) waitVersion(ctx context.Context, key kinglet.Key, version string) error {
	scope, ok := h.informer.Kinglet().SourceOf(key)
	if !ok {
		return kinglet.ErrNoScope
	}
	return h.informer.Kinglet().WaitSourceVersion(ctx, scope, version)
}

// shows reports whether the informer shows a write. If not, it returns the next version
// of the write's scope that may.
func (h *holding) shows(w *unreadWrite) (version string, shown bool) {
	inf := h.informer.Kinglet()
	scope, _ := inf.SourceOf(w.key)
	at := inf.Store().ResourceVersion(scope)
	held, _ := inf.Store().Get(w.key)
	obj, holds := held.(client.Object)
	switch {
	case !w.deleted:
		return w.version, reached(at, w.version) || holds && reached(obj.GetResourceVersion(), w.version)
	case (!holds || obj.GetUID() != w.uid) && w.covered && w.version != "" && !reached(at, w.version):
		return w.version, false // the object has not come yet, so it cannot be gone
	case !holds, obj.GetUID() != w.uid, obj.GetDeletionTimestamp() != nil:
		return "", true
	}
	return after(at), false
}

// giveUp stops the waits for a write, and logs that.
func (h *holding) giveUp(w *unreadWrite) {
	if !h.unread.remove(w) {
		return // somebody else has
	}
	h.reportUnread(w)
}

// reportUnread logs that reads may be older than a write from now on.
func (h *holding) reportUnread(w *unreadWrite) {
	err := &kinglet.UnconfirmedWriteError{
		Name: describe(h.gvk, h.form), Key: w.key, UID: w.uid, ResourceVersion: w.version, Since: w.since, Err: kinglet.ErrNotConfirmed,
	}
	logf.Log.WithName("kinglet").Error(err, "Reads no longer wait for a write")
}

// reached reports whether version at is want or later.
func reached(at, want string) bool {
	order, ok := resourceversion.Compare(at, want)
	return ok && order >= 0
}

// after returns the next version.
func after(version string) string {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return version
	}
	return strconv.FormatUint(n+1, 10)
}
