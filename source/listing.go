package source

import (
	"errors"
	"fmt"
	"slices"
	"sync"

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

// listing is one LIST answer being decoded: what both encodings have in
// common. Items are cut out of the stream on the caller's goroutine, and
// decoded together once the buffer is full.
type listing[T any] struct {
	codec *codec[T]
	w     *window
	held  Held[T]
	crew  *crew[T]
	yield func(Page[T]) error

	// gvk is the list's own kind, once it was read; tm what protobuf said of
	// it so far.
	gvk  schema.GroupVersionKind
	tm   runtime.TypeMeta
	meta metav1.ListMeta

	// cut are the items that were found in the window and not yet decoded.
	// They alias its buffer, which is pinned while there are any.
	cut [][]byte
	// item decodes one of them; unsure as for reader.itemFromJSON.
	item func(r *reader[T], raw []byte) (it Item[T], unsure bool)

	items []Item[T]
	// unsure are positions in items whose objects do not say their kind while
	// the list has not said its own. They hold the page back.
	unsure []int
	// sent is where in the stream the last page ended.
	sent int64
	// pages counts those that were sent.
	pages int
}

// add takes in the next n unread bytes, which are an item.
func (l *listing[T]) add(n int) error {
	l.w.pinned = true
	l.cut = append(l.cut, l.w.unread()[:n:n])
	l.w.take(n)
	if len(l.items)+len(l.cut) < pageItems && l.w.offset-l.sent < pageBytes {
		return nil
	}
	l.decode()
	if len(l.unsure) > 0 {
		if held := l.w.offset - l.sent; l.w.fits(uint64(held)) != nil {
			return l.w.malformed("list", "%w, for %d bytes", errUnsure, held)
		}
		return nil
	}
	return l.send(true)
}

// decode makes items of what was cut, on all cores and in order. The window's
// buffer is free afterwards.
func (l *listing[T]) decode() {
	n := len(l.cut)
	if l.items == nil && (l.pages > 0 || n > pageItems/2) {
		// This will be a full one, as the page before was.
		l.items = make([]Item[T], 0, pageItems)
	}
	first := len(l.items)
	l.items = slices.Grow(l.items, n)[:first+n]
	items := l.items[first:]
	var doubt sync.Mutex
	l.crew.each(l.codec, n, l.held, func(r *reader[T], i int) {
		var unsure bool
		items[i], unsure = l.item(r, l.cut[i])
		if unsure {
			doubt.Lock()
			l.unsure = append(l.unsure, first+i)
			doubt.Unlock()
		}
	})
	clear(l.cut)
	l.cut = l.cut[:0]
	l.w.pinned = false
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
	if err := l.codec.kind.checkList(l.gvk); err != nil {
		return err
	}
	gvk, known := l.codec.kind.listed(l.gvk, true)
	for _, i := range l.unsure {
		it := &l.items[i]
		if it.Err != nil {
			continue
		}
		err := errUnsure
		if known {
			err = l.codec.kind.check(gvk)
		}
		if err != nil {
			id := identity{key: it.Key, uid: it.UID, version: it.ResourceVersion}
			*it = brokenItem[T](StageDecode, id, err)
			continue
		}
		setKind(it.Object, gvk)
	}
	return l.send(false)
}

// statusError is the error that the server meant by status, in place of what
// was asked for.
func statusError(status *metav1.Status) error {
	return apierrors.FromObject(status)
}

// otherError is for something else than a *Status where only an error was due.
// It may be one in an unstructured object; if not, its kind is all that is said,
// since errors go to logs and the object may be a Secret.
func otherError(what runtime.Object) error {
	err := apierrors.FromObject(what)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		err = fmt.Errorf("%w: unexpected object of type %T, kind %q", ErrNoStatus, what, what.GetObjectKind().GroupVersionKind().Kind)
	}
	return fmt.Errorf("the server sent as an error: %w", err)
}
