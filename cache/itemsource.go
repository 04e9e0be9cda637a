package cache

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// itemSource calls fixes with each item, in order, before anything else sees
// it. They give items the keys of this package: see keys.go.
type itemSource struct {
	source.Source[any]
	fixes []itemFix
	// transform, if not nil, is called with the objects of a list or watch that a client
	// has decoded, before fixes. decoded reports that the current one is such a one.
	transform TransformFunc
	decoded   bool
	// why, if not nil, is the reason why a client decodes.
	why error
	// unchunked lists in one piece, whatever limit is requested. A sample keeps
	// its limit, and so does a probe, which requests one object for its version.
	unchunked bool
}

type itemFix func(it *source.Item[any], deleted bool)

// onPath returns the OnPath for a request.
func (s *itemSource) onPath(onPath func(source.ReadPath)) func(source.ReadPath) {
	if s.transform == nil && (s.why == nil || onPath == nil) {
		return onPath
	}
	return func(path source.ReadPath) {
		s.decoded = path.Path == source.PathClient
		if s.decoded && s.why != nil {
			path.Why = s.why
		}
		if onPath != nil {
			onPath(path)
		}
	}
}

// read makes it what is stored: transformed, if a client has decoded it, and fixed.
func (s *itemSource) read(it *source.Item[any], deleted bool) {
	if s.decoded && s.transform != nil && it.Err == nil {
		if obj, err := s.transform(it.Object); err == nil {
			it.Object = obj
		} else {
			*it = source.Item[any]{Key: it.Key, UID: it.UID, ResourceVersion: it.ResourceVersion, Err: err}
		}
	}
	s.fix(it, deleted)
}

func (s *itemSource) fix(it *source.Item[any], deleted bool) {
	for _, fix := range s.fixes {
		fix(it, deleted)
	}
}

// List implements source.Source.
func (s *itemSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	if req.Exact {
		return s.Source.List(ctx, req, each(s.fix, yield))
	}
	if probe := req.Once && req.Limit == 1; s.unchunked && !probe {
		req.Limit = 0
	}
	req.OnPath = s.onPath(req.OnPath)
	return s.Source.List(ctx, req, each(s.read, yield))
}

// ReadAnswer implements source.AnswerReader.
func (s *itemSource) ReadAnswer(a source.Answer) (source.Written[any], error) {
	w, err := source.ReadAnswer(s.Source, a)
	if err == nil && !w.Unread {
		s.fix(&w.Item, false)
		err = w.Err
	}
	return w, err
}

// each returns a function that calls fix with the items of a page before yield.
func each(fix itemFix, yield func(source.Page[any]) error) func(source.Page[any]) error {
	return func(page source.Page[any]) error {
		for i := range page.Items {
			fix(&page.Items[i], false)
		}
		return yield(page)
	}
}

// Watch implements source.Source.
func (s *itemSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	req.OnPath = s.onPath(req.OnPath)
	return s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		for i := range events {
			if e := &events[i]; e.Type.HasObject() {
				s.read(&e.Item, e.Type == source.Deleted)
			}
		}
		return yield(events)
	})
}

// keyedHere gives an item its key in this package: an object without a name has
// one too, and a name with a slash is split as keys are.
func keyedHere(it *source.Item[any], _ bool) {
	if it.Err != nil {
		if nameless, ok := errors.AsType[*source.NamelessError](it.Err); ok {
			takeNameless(it, nameless.Object())
		}
	}
	if strings.IndexByte(it.Key.Namespace, '/') >= 0 || it.Key.Namespace == "" && strings.IndexByte(it.Key.Name, '/') > 0 {
		it.Key = storeKey(keyString(it.Key))
	}
}

// takeNameless turns it into the item of an object without a name.
func takeNameless(it *source.Item[any], obj any) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	*it = source.Item[any]{
		Key: store.Key{Namespace: m.GetNamespace()}, UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), Object: obj,
	}
}

// informerItems fixes the items of an informer.
type informerItems struct {
	// transformed is whether objects go through a transform, which may rename
	// them.
	transformed bool
	// renamed is whether it did. From then on the key of an object for which
	// the transform fails is unknown.
	renamed atomic.Bool
}

var informerKey = storeKeyFunc(DeletionHandlingMetaNamespaceKeyFunc)

// errNoKey reports the delete of an object that has neither name nor namespace.
// Its key is empty, like that of objects that cannot be told apart, so only a
// list can tell what was deleted.
var errNoKey = errors.New("an object that has neither namespace nor name was deleted")

func (i *informerItems) fix(it *source.Item[any], deleted bool) {
	switch {
	case it.Err != nil && i.renamed.Load():
		it.Key = store.Key{}
	case it.Err != nil:
	case i.transformed:
		if key, err := informerKey(it.Object); err == nil && key != it.Key {
			i.renamed.Store(true)
			it.Key = key
		}
	}
	if deleted && it.Err == nil && it.Key == (store.Key{}) {
		*it = source.Item[any]{UID: it.UID, ResourceVersion: it.ResourceVersion, Err: errNoKey}
	}
}

// observedSource counts what its source returns in metrics, except exact lists. It is not
// safe for concurrent use.
type observedSource struct {
	source.Source[any]
	counts *reflectorMetrics // may be nil
	meter  *meter            // may be nil

	// began and items describe the list whose pages are being fetched.
	began time.Time
	items int
}

// ReadAnswer implements source.AnswerReader.
func (s *observedSource) ReadAnswer(a source.Answer) (source.Written[any], error) {
	return source.ReadAnswer(s.Source, a)
}

// List implements source.Source. A list enters the store after its last page is
// returned: before the reflector's next request, or with its OnOpen.
func (s *observedSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	if req.Exact {
		return s.Source.List(ctx, req, yield)
	}
	s.meter.settle()
	if req.Continue == "" {
		s.counts.listing()
		s.began, s.items = time.Now(), 0
	}
	last := false
	err := s.Source.List(ctx, req, func(page source.Page[any]) error {
		s.items += len(page.Items)
		last = !page.More && page.Continue == ""
		return yield(page)
	})
	if err == nil && last {
		s.counts.listed(s.began, s.items)
		s.meter.complete(s.items)
	}
	return err
}

// Watch implements source.Source. Initial events count as a list, without the
// bookmark that ends them.
func (s *observedSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	if publish := req.OnOpen; publish != nil {
		req.OnOpen = func() {
			publish()
			s.meter.settle()
		}
	} else {
		s.meter.settle()
	}
	initial := req.SendInitialEvents
	if initial {
		s.counts.listing()
	} else {
		s.counts.watching()
	}
	// items counts events since began, queued those that are not in the store
	// yet.
	began, items, queued := time.Now(), 0, 0
	err := s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		queued += len(events)
		for i := range events {
			items++
			if initial && events[i].InitialEventsEnd {
				s.counts.listed(began, items-1)
				s.counts.watching()
				began, items, initial = time.Now(), 0, false
				queued--
			}
		}
		if initial {
			return yield(events)
		}
		n := queued
		queued = 0
		return s.meter.process(n, func() error { return yield(events) })
	})
	if !initial {
		s.counts.watched(began, items)
	}
	return err
}
