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

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

const (
	// A page is sent on at this many items or bytes, whichever comes first.
	pageItems = 512
	pageBytes = 1 << 20
)

var errUnsure = errors.New("neither the item nor its list says of what kind it is")

// listing is one LIST answer being decoded. Items are found on the caller's
// goroutine, and decoded together once the buffer is full.
type listing[T any] struct {
	codec *codec[T]
	// metadata: it may be a list of metadata.
	metadata bool
	enc      encoding.Encoding
	w        *encoding.Window
	held     Held[T]
	workers  *workers[T]
	yield    func(Page[T]) error

	// list is what was read of the list itself.
	list encoding.List

	// cut are the items that were found in the window and not yet decoded.
	// They alias its buffer, which is pinned while there are any.
	cut   [][]byte
	items []Item[T]
	// unsure are the indices of items of unknown kind: neither they nor the list
	// so far have named it. They hold the page back.
	unsure []int
	// sent is where in the stream the last page ended.
	sent int64
	// pages counts those that were sent.
	pages int
}

// read reads the list until its end.
func (l *listing[T]) read() error {
	l.list = encoding.List{
		Check:  l.check,
		Item:   l.add,
		Flush:  l.decode,
		Status: statusError,
	}
	if err := l.enc.List(l.w, &l.list); err != nil {
		return err
	}
	return l.finish()
}

func (l *listing[T]) check(got schema.GroupVersionKind) error {
	if l.metadata && got == partialListKind {
		return nil
	}
	return l.codec.kind.checkList(got, l.list.Items)
}

// add consumes the next n unread bytes, which are an item.
func (l *listing[T]) add(n int) error {
	if l.metadata && (l.list.Kind.Kind == "" || l.list.Kind.Version == "") {
		return errFormUnknown
	}
	l.w.Pin(l.decode)
	l.cut = append(l.cut, l.w.Unread()[:n:n])
	l.w.Consume(n)
	if len(l.items)+len(l.cut) < pageItems && l.w.Offset()-l.sent < pageBytes {
		return nil
	}
	l.decode()
	if len(l.unsure) > 0 {
		if held := l.w.Offset() - l.sent; l.w.Fits(uint64(held)) != nil {
			return l.w.Malformed("list", "%w, for %d bytes", errUnsure, held)
		}
		return nil
	}
	return l.send(true)
}

// decode decodes the cut items, on all cores and in order. The window's buffer is
// free afterwards.
func (l *listing[T]) decode() {
	n := len(l.cut)
	if l.items == nil && (l.pages > 0 || n > pageItems/2) {
		// This page will be full, as the one before was.
		l.items = make([]Item[T], 0, pageItems)
	}
	first := len(l.items)
	l.items = slices.Grow(l.items, n)[:first+n]
	items := l.items[first:]
	var doubt sync.Mutex
	l.workers.each(l.codec, n, l.held, func(r *reader[T], i int) {
		var unsure bool
		items[i], unsure = r.listed(l.enc, l.cut[i], l.list.Kind)
		if unsure {
			doubt.Lock()
			l.unsure = append(l.unsure, first+i)
			doubt.Unlock()
		}
	})
	clear(l.cut)
	l.cut = l.cut[:0]
	l.w.Unpin()
}

func (l *listing[T]) send(more bool) error {
	page := Page[T]{
		Items:           l.items,
		ResourceVersion: l.list.Meta.ResourceVersion,
		More:            more,
		Bytes:           l.w.Offset() - l.sent,
	}
	if !more {
		page.Continue = l.list.Meta.Continue
		if n := l.list.Meta.RemainingItemCount; n != nil {
			page.Remaining = *n
		}
	}
	l.items = nil
	l.sent = l.w.Offset()
	l.pages++
	return l.yield(page)
}

// finish resolves the unsure items by the list's kind, and sends the last page.
func (l *listing[T]) finish() error {
	k := l.codec.kind
	if err := l.check(l.list.Kind); err != nil {
		return err
	}
	if l.list.Kind.Empty() && k.form != typed && l.pages == 0 && len(l.items) == 0 {
		// Some server's JSON; client-go's dynamic and metadata clients refuse it as well.
		return &KindError{Want: k.wantedList()}
	}
	gvk, known := k.listed(l.list.Kind, true)
	for _, i := range l.unsure {
		it := &l.items[i]
		if it.Err != nil {
			continue
		}
		err := errUnsure
		if known {
			err = k.check(gvk)
		}
		if err != nil {
			*it = brokenItem[T](StageDecode, it.identity(), err)
			continue
		}
		setKind(it.Object, gvk)
	}
	return l.send(false)
}

// statusError returns the error for a Status that the server sent instead of an
// answer.
func statusError(status *metav1.Status) error {
	return apierrors.FromObject(status)
}

// otherError returns the error for an object that came where a *Status was due.
// It may be a Status in an unstructured object. If not, the error names only its
// kind, since errors go to logs and the object may be a Secret.
func otherError(what runtime.Object) error {
	err := apierrors.FromObject(what)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		err = fmt.Errorf("%w: unexpected object of type %T, kind %q", ErrNoStatus, what, what.GetObjectKind().GroupVersionKind().Kind)
	}
	return fmt.Errorf("the server sent as an error: %w", err)
}
