package source

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// A page is sent on at this many items or bytes, whichever comes first.
	pageItems = 512
	pageBytes = 1 << 20
)

var errUnsure = errors.New("neither the item nor its list says of what kind it is")

// listing is one LIST answer being decoded: what json.go and protobuf.go have
// in common.
type listing[T any] struct {
	kind  *kind[T]
	w     *window
	yield func(Page[T]) error

	// gvk is the list's own kind, once it was read; tm what protobuf said of
	// it so far.
	gvk  schema.GroupVersionKind
	tm   runtime.TypeMeta
	meta metav1.ListMeta

	items []Item[T]
	// unsure are positions in items whose objects do not say their kind while
	// the list has not said its own. They hold the page back.
	unsure []int
	// sent is where in the stream the last page ended.
	sent int64
	// pages counts those that were sent.
	pages int
}

// add takes one item in, and sends the page if it is full.
func (l *listing[T]) add(it Item[T]) error {
	if l.items == nil && l.pages > 0 {
		// The page before was a full one, and this will be one as well.
		l.items = make([]Item[T], 0, pageItems)
	}
	l.items = append(l.items, it)
	if len(l.items) < pageItems && l.w.offset-l.sent < pageBytes {
		return nil
	}
	if len(l.unsure) > 0 {
		return nil
	}
	return l.send(true)
}

func (l *listing[T]) send(more bool) error {
	page := Page[T]{
		Items:           l.items,
		ResourceVersion: l.meta.ResourceVersion,
		More:            more,
		Bytes:           l.w.offset - l.sent,
	}
	if !more {
		page.Continue = l.meta.Continue
		if n := l.meta.RemainingItemCount; n != nil {
			page.Remaining = *n
		}
	}
	l.items = nil
	l.sent = l.w.offset
	l.pages++
	return l.yield(page)
}

// finish settles what had to wait for the list's end, and sends the rest.
func (l *listing[T]) finish() error {
	if err := l.kind.checkList(l.gvk); err != nil {
		return err
	}
	for _, i := range l.unsure {
		it := &l.items[i]
		if it.Err == nil && !l.kind.setFromList(it.Object, l.gvk) {
			id := identity{key: it.Key, uid: it.UID, version: it.ResourceVersion}
			*it = brokenItem[T](StageDecode, id, errUnsure)
		}
	}
	return l.send(false)
}

// decodedItem makes the item of an object, or of the reason why there is none.
func decodedItem[T any](obj T, err error, raw []byte, id func([]byte) identity) Item[T] {
	if err != nil {
		return brokenItem[T](StageDecode, id(raw), err)
	}
	return objectItem(obj)
}

// statusError is the error that the server meant by status, in place of what
// was asked for.
func statusError(status *metav1.Status) error {
	return apierrors.FromObject(status)
}

// otherError is for something else than a Status where only an error was due.
func otherError(what runtime.Object) error {
	return fmt.Errorf("the server sent as an error: %w", apierrors.FromObject(what))
}
