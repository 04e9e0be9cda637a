package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinglet-go/kinglet/store"
)

var (
	// errFormUnknown: the items of a list came before its kind, so that it is not known
	// whether they are metadata.
	errFormUnknown = errors.New("the list does not begin with its kind")
	// errOtherVersion: a server does not know resourceVersionMatch=Exact, or has no versions.
	errOtherVersion = errors.New("the server has listed another version than it was asked for")
)

// wholeLister lists metadata, and whole objects beside it: see Options.WholeLabels.
type wholeLister[T any] struct {
	*selection
	// list makes one request.
	list func(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error
	// unable: the server cannot do this. refused: it did not the last time, and the next list
	// is one of whole objects.
	unable, refused atomic.Bool
}

// List is Source.List.
func (l *wholeLister[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	// A comparison wants objects in the server's order, and a probe no more than a version.
	// A server that sends pages although none were asked for sends the others whole.
	if l.selection == nil || l.labels == nil || req.Exact || req.Continue != "" || req.Limit == 1 || req.FieldSelector != "" {
		return l.list(ctx, req, yield)
	}
	if l.unable.Load() || l.refused.Load() {
		err := l.list(ctx, req, yield)
		if err == nil {
			l.refused.Store(false)
		}
		return err
	}
	w := wanted[T]{lister: l, req: req, yield: yield, byLabels: map[store.Key]struct{}{}, byName: map[store.Key]struct{}{}}
	req.metadata, req.Limit = true, 0 // metadata is small
	var last Page[T]
	err := l.list(ctx, req, func(page Page[T]) error {
		w.takeFrom(&page)
		if page.More {
			return yield(page)
		}
		last = page
		return nil
	})
	if err == nil {
		if err = w.read(ctx, last.ResourceVersion); err != nil {
			l.refused.Store(true)
		}
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

// maxByName is how many objects are requested by their names. More come with a list of all.
const maxByName = 16

// wanted are the objects of a list of metadata that are to be whole. That one is held in the
// same version does not tell: a restored server may have another, and conversion another
// form of it.
type wanted[T any] struct {
	lister           *wholeLister[T]
	req              ListRequest[T]
	yield            func(Page[T]) error
	byLabels, byName map[store.Key]struct{}
}

// takeFrom removes from a page what has to be read whole.
func (w *wanted[T]) takeFrom(page *Page[T]) {
	items := page.Items[:0]
	for i := range page.Items {
		if it := page.Items[i]; it.Err != nil || !w.chooses(&it) {
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
	switch {
	case err != nil:
		*it = brokenItem[T](StageDecode, it.identity(), err)
		return false
	case whole && w.lister.labels.Matches(labels.Set(m.GetLabels())):
		w.byLabels[it.Key] = struct{}{}
	case whole:
		w.byName[it.Key] = struct{}{}
	}
	return whole
}

// read reads what is wanted, in the version of the list.
func (w *wanted[T]) read(ctx context.Context, version string) error {
	req := ListRequest[T]{ResourceVersion: version, Exact: true, Once: w.req.Once, Held: w.req.Held, OnPath: w.req.OnPath}
	if len(w.byName) > maxByName {
		maps.Copy(w.byLabels, w.byName)
		return w.request(ctx, req, w.byLabels)
	}
	if len(w.byLabels) > 0 {
		req.labels = w.lister.labels
		if err := w.request(ctx, req, w.byLabels); err != nil {
			return err
		}
	}
	req.labels = nil
	for key := range w.byName {
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
		page.Items = slices.DeleteFunc(page.Items, func(it Item[T]) bool {
			_, is := keys[it.Key]
			delete(keys, it.Key)
			return !is
		})
		page.Continue, page.Remaining, page.More = "", 0, true
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
