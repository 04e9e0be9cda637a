package ctrlruntime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/objectmeta"
)

// unread makes reads of a kind wait for a write that its informer cannot read. It is
// OwnWrites.Unread.
func (c *Cache) unread(w kinglet.UnreadWrite) {
	h := c.holdingWith(w.Informer)
	if h == nil {
		return // it was removed
	}
	if w.Deleted && w.Objects == nil {
		c.unreadCollection(h, w.Namespace)
		return
	}
	now := time.Now()
	var writes []*unreadWrite
	for i := range w.Objects {
		if write := h.unreadWriteOf(&w.Objects[i], w.Deleted); write != nil {
			write.since = now
			writes = append(writes, write)
		}
	}
	h.awaitWrites(writes)
}

// awaitWrites makes reads wait for writes.
func (h *holding) awaitWrites(writes []*unreadWrite) {
	surplus, due := h.unread.add(writes...)
	for _, w := range surplus {
		h.reportUnread(w)
	}
	for _, w := range due {
		if _, shown := h.shows(w); shown {
			h.unread.remove(w)
		} else if time.Since(w.since) >= forgetUnread {
			h.giveUp(w)
		}
	}
}

// holdingWith returns the holding that has an informer, or nil.
func (c *Cache) holdingWith(informer kinglet.OwnWriter) *holding {
	for _, k := range c.all() {
		if kinglet.OwnWriter(k.informer.Kinglet()) == informer {
			return k.holding
		}
	}
	return nil
}

// unreadWriteOf returns a write that reads have to wait for. It is nil if they need not
// wait, because the write is shown, or the informer does not cover the object.
func (h *holding) unreadWriteOf(m *metav1.ObjectMeta, deleted bool) *unreadWrite {
	inf := h.informer.Kinglet()
	w := &unreadWrite{
		key: kinglet.Key{Namespace: m.Namespace, Name: m.Name}, uid: m.UID, version: m.ResourceVersion,
		deleted: deleted, covered: h.coversMetadata(m),
	}
	held, _ := inf.Store().Get(w.key)
	obj, holds := held.(metav1.Object)
	if deleted && w.uid == "" && holds {
		w.uid = obj.GetUID()
	}
	if !deleted && h.namespaced() && objectmeta.Gone(m, m) {
		// The write removed the last finalizer of an object that was deleted.
		if inf.WroteDelete(w.key, w.uid) == nil {
			return nil
		}
	}
	switch {
	case !holds && !w.covered, w.version == "" && !(deleted && holds):
		return nil
	case deleted && m.DeletionTimestamp != nil && !holds:
		return nil // it was already being deleted
	}
	if _, shown := h.shows(w); shown {
		return nil
	}
	return w
}

// unreadCollection records the deletion of a collection whose answer does not list what
// was deleted. It asks the server what is left: held objects that are not there are
// removed from reads at once, and reads wait for those that are marked for deletion.
// (They do not wait for the version of that list, which the watch may reach only with
// its next bookmark, a minute later.)
func (c *Cache) unreadCollection(h *holding, namespace string) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultWaitForWrites)
	defer cancel()
	inf := h.informer.Kinglet()
	// Taken before the server is asked: its answer does not include later objects
	// either.
	before := slices.Collect(inf.Store().Prefix(kinglet.Key{Namespace: namespace}))
	left, err := h.lists.Load().left(ctx, namespace)
	if err != nil {
		logf.Log.WithName("kinglet").Error(err, "A collection was deleted, and reads may be older than that", "kind", describe(h.gvk, h.form))
		return
	}
	var writes []*unreadWrite
	for _, held := range before {
		obj, ok := held.(metav1.Object)
		if !ok {
			continue
		}
		key := kinglet.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
		now, there := left[key]
		switch there = there && now.UID == obj.GetUID(); {
		case there && (now.DeletionTimestamp == nil || obj.GetDeletionTimestamp() != nil):
			continue
		case !there && inf.WroteDelete(key, obj.GetUID()) == nil:
			continue
		}
		was := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(), Labels: obj.GetLabels()}
		if write := h.unreadWriteOf(&was, true); write != nil {
			write.since = time.Now()
			writes = append(writes, write)
		}
	}
	h.awaitWrites(writes)
}

// left asks the server for the metadata of the objects in a namespace, or of all, by
// key.
func (l *listWatches) left(ctx context.Context, namespace string) (map[kinglet.Key]metav1.ObjectMeta, error) {
	left := map[kinglet.Key]metav1.ObjectMeta{}
	for next := ""; ; {
		req := l.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(l.resource).
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json").
			Param("limit", "500")
		if next != "" {
			req = req.Param("continue", next)
		}
		body, err := req.Do(ctx).Raw()
		if err != nil {
			return nil, err
		}
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(body, &list); err != nil {
			return nil, fmt.Errorf("list of %s: %w", l.resource, err)
		}
		for i := range list.Items {
			m := &list.Items[i].ObjectMeta
			left[kinglet.Key{Namespace: m.Namespace, Name: m.Name}] = *m
		}
		if next = list.Continue; next == "" {
			return left, nil
		}
	}
}
