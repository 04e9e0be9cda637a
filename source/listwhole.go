package source

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinglet-go/kinglet/store"
)

var (
	// errFormUnknown: the items of a list came before its kind, which says whether they are
	// metadata.
	errFormUnknown = errors.New("the list does not begin with its kind")
	// errOtherVersion: a server does not know resourceVersionMatch=Exact, or has no versions.
	errOtherVersion = errors.New("the server has listed another version than it was asked for")
)

// wholeLister lists metadata, and whole objects beside it: see Options.WholeLabels.
type wholeLister[T any] struct {
	*selection
	// list makes one request.
	list func(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error
	// unable: the server cannot do this.
	unable atomic.Bool
}

// List is Source.List.
func (l *wholeLister[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	if l.selection == nil || l.labels == nil || l.unable.Load() || req.FieldSelector != "" {
		return l.list(ctx, req, yield)
	}
	var last Page[T]
	w := wanted[T]{lister: l, req: req, yield: yield, byLabels: map[store.Key]struct{}{}}
	req.metadata = true
	err := l.list(ctx, req, func(page Page[T]) error {
		w.takeFrom(&page)
		if page.More {
			return yield(page)
		}
		last = page
		return nil
	})
	if err == nil {
		err = w.read(ctx, last.ResourceVersion)
	}
	switch {
	case errors.Is(err, errFormUnknown) || errors.Is(err, errOtherVersion):
		l.unable.Store(true)
		return fmt.Errorf("objects are to be held whole among others of which metadata is held: %w; it is asked for whole objects from now on", err)
	case err != nil:
		return err
	}
	return yield(last)
}

// wanted are the objects of a list of metadata that are to be whole, and are not held.
type wanted[T any] struct {
	lister   *wholeLister[T]
	req      ListRequest[T]
	yield    func(Page[T]) error
	byLabels map[store.Key]struct{}
	byName   []store.Key
}

// takeFrom removes from a page what has to be read whole, and replaces what is held whole.
func (w *wanted[T]) takeFrom(page *Page[T]) {
	items := page.Items[:0]
	for i := range page.Items {
		it := page.Items[i]
		if it.Err != nil || !w.chooses(&it) || w.held(&it) {
			items = append(items, it)
		}
	}
	clear(page.Items[len(items):])
	page.Items = items
}

// chooses reports whether an object has to be whole and is not, and notes how it is to be
// read. The item has the error if Whole panics.
func (w *wanted[T]) chooses(it *Item[T]) bool {
	m, err := accessor(it.Object)
	if err != nil || !IsPartial(m) {
		return false // the server has sent whole objects
	}
	whole, err := w.lister.holdsWhole(it.Object)
	if err != nil {
		*it = brokenItem[T](StageDecode, it.identity(), err)
	}
	return whole && err == nil
}

// held makes an item the object that is held, if that is it in the same version and whole.
// Otherwise it notes how to read it.
func (w *wanted[T]) held(it *Item[T]) bool {
	if w.req.Held != nil {
		obj, memo, ok := w.req.Held(it.Key)
		if m, err := accessor(obj); ok && err == nil && !IsPartial(m) && m.GetUID() == it.UID && m.GetResourceVersion() == it.ResourceVersion {
			it.Object, it.Memo, it.Size = obj, memo, 0
			return true
		}
	}
	if m, _ := accessor(it.Object); w.lister.labels.Matches(labels.Set(m.GetLabels())) {
		w.byLabels[it.Key] = struct{}{}
	} else {
		w.byName = append(w.byName, it.Key)
	}
	return false
}

// read reads what is wanted, in the version of the list.
func (w *wanted[T]) read(ctx context.Context, version string) error {
	req := ListRequest[T]{ResourceVersion: version, Exact: true, Once: w.req.Once, Held: w.req.Held, OnPath: w.req.OnPath}
	if len(w.byLabels) > 0 {
		req.labels = w.lister.labels
		if err := w.request(ctx, req, w.byLabels); err != nil {
			return err
		}
	}
	req.labels = nil
	for _, key := range w.byName {
		req.FieldSelector = named(key).String()
		if err := w.request(ctx, req, map[store.Key]struct{}{key: {}}); err != nil {
			return err
		}
	}
	return nil
}

// request yields the objects under keys, which are in a list.
func (w *wanted[T]) request(ctx context.Context, req ListRequest[T], keys map[store.Key]struct{}) error {
	if req.ResourceVersion == "" || req.ResourceVersion == "0" {
		return errOtherVersion
	}
	err := w.lister.list(ctx, req, func(page Page[T]) error {
		if page.ResourceVersion != "" && page.ResourceVersion != req.ResourceVersion {
			return errOtherVersion
		}
		items := page.Items[:0]
		for _, it := range page.Items {
			if _, is := keys[it.Key]; is {
				delete(keys, it.Key)
				items = append(items, it)
			}
		}
		clear(page.Items[len(items):])
		page.Items, page.Continue, page.Remaining, page.More = items, "", 0, true
		return w.yield(page)
	})
	if err != nil {
		return err
	}
	for key := range keys {
		return fmt.Errorf("%w: %s is missing", errOtherVersion, key)
	}
	return nil
}

// named selects one object.
func named(key store.Key) fields.Selector {
	name := fields.OneTermEqualSelector("metadata.name", key.Name)
	if key.Namespace == "" {
		return name
	}
	return fields.AndSelectors(name, fields.OneTermEqualSelector("metadata.namespace", key.Namespace))
}
