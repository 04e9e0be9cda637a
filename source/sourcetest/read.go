package sourcetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// List implements source.Source. It yields one page. Static keeps no version but the
// latest for lists that ask for an exact one, and those that continue tokens refer to.
func (s *Static[T]) List(ctx context.Context, req source.ListRequest[T], yield func(source.Page[T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	page, err := s.page(req)
	if err != nil {
		return err
	}
	tell(req.OnPath)
	return yield(page)
}

func tell(onPath func(source.ReadPath)) {
	if onPath != nil {
		onPath(source.ReadPath{Path: source.PathMemory})
	}
}

func (s *Static[T]) page(req source.ListRequest[T]) (source.Page[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	if err := s.listFault.next(); err != nil {
		return source.Page[T]{}, err
	}
	version, from := s.version, 0
	var state []T
	if req.Continue != "" {
		var err error
		if version, from, err = parseContinue(req.Continue); err != nil {
			return source.Page[T]{}, err
		}
		var ok bool
		if state, ok = s.paged[version]; !ok {
			return source.Page[T]{}, apierrors.NewResourceExpired("the continue token is too old")
		}
	} else {
		if err := s.notFutureLocked(req.ResourceVersion); err != nil {
			return source.Page[T]{}, err
		}
		if req.Exact && req.ResourceVersion != rv(version) {
			return source.Page[T]{}, apierrors.NewResourceExpired("the version " + req.ResourceVersion + " is not the latest")
		}
		selector, err := fields.ParseSelector(req.FieldSelector)
		if err != nil {
			return source.Page[T]{}, apierrors.NewBadRequest(err.Error())
		}
		state = slices.DeleteFunc(s.sortedLocked(), func(obj T) bool {
			return !selector.Matches(fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()})
		})
	}
	to := len(state)
	page := source.Page[T]{ResourceVersion: rv(version)}
	if req.Limit > 0 && int64(to-from) > req.Limit {
		to = from + int(req.Limit)
		s.paged[version] = state
		page.Continue = rv(version) + ":" + strconv.Itoa(to)
		page.Remaining = int64(len(state) - to)
	}
	page.Items = make([]source.Item[T], 0, to-from)
	for _, obj := range state[from:to] {
		page.Items = append(page.Items, source.ItemOf(deepCopy(obj)))
	}
	return page, nil
}

// notFutureLocked returns an error for a version after the current one, as a
// server does once it has waited for it.
func (s *Static[T]) notFutureLocked(version string) error {
	if version == "" {
		return nil
	}
	v, err := parseRV(version)
	if err != nil {
		return err
	}
	if v <= s.version {
		return nil
	}
	terr := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", v, s.version), 1)
	terr.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return terr
}

func parseContinue(token string) (version int64, from int, err error) {
	v, i, ok := strings.Cut(token, ":")
	if ok {
		if version, err = parseRV(v); err == nil {
			from, err = strconv.Atoi(i)
		}
	}
	if !ok || err != nil || from < 0 {
		return 0, 0, apierrors.NewBadRequest(fmt.Sprintf("continue token %q is not valid", token))
	}
	return version, from, nil
}

// batchEvents is the most events in a batch.
const batchEvents = 256

// staticWatch is one open watch.
type staticWatch[T any] struct {
	// pending are the events still to be sent. It is unbounded, since the test
	// wrote them. guarded by Static.mu, as are closed and err
	pending []source.Event[T]
	// closed: end with err once pending is sent.
	closed bool
	err    error
	// wake has room for one signal. The watch makes it, so that it belongs to
	// the watch's bubble in testing/synctest.
	wake chan struct{}
}

func (w *staticWatch[T]) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Watch implements source.Source. A version whose history was dropped is answered
// with an Error event of 410, as a server does.
func (s *Static[T]) Watch(ctx context.Context, req source.WatchRequest[T], yield func([]source.Event[T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := s.open(req)
	if err != nil {
		return err
	}
	defer s.close(w)
	tell(req.OnPath)
	var timeout <-chan time.Time
	if req.Timeout > 0 {
		timeout = time.After(req.Timeout)
	}
	for {
		batch, ended, err := s.next(w)
		if len(batch) > 0 {
			if err := yield(batch); err != nil {
				return err
			}
		}
		if ended {
			return err
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-w.wake:
		case <-timeout:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (s *Static[T]) open(req source.WatchRequest[T]) (*staticWatch[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if err := s.watchFault.next(); err != nil {
		return nil, err
	}
	if req.SendInitialEvents && s.watchListFault != nil {
		return nil, s.watchListFault
	}
	if err := s.notFutureLocked(req.ResourceVersion); err != nil {
		return nil, err
	}
	w := &staticWatch[T]{wake: make(chan struct{}, 1)}
	if req.SendInitialEvents || req.ResourceVersion == "" || req.ResourceVersion == "0" {
		w.pending = s.initialLocked(req.SendInitialEvents)
	} else {
		from, err := parseRV(req.ResourceVersion)
		if err != nil {
			return nil, err
		}
		if from < s.compacted {
			gone := source.Event[T]{Type: source.Error}
			gone.Err = apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, s.compacted))
			w.pending, w.closed = []source.Event[T]{gone}, true
			return w, nil
		}
		for _, e := range s.history {
			if v, _ := parseRV(e.ResourceVersion); v > from {
				w.pending = append(w.pending, e)
			}
		}
	}
	s.watches[w] = struct{}{}
	return w, nil
}

// initialLocked returns the state as Added events, followed by the bookmark.
func (s *Static[T]) initialLocked(bookmark bool) []source.Event[T] {
	var events []source.Event[T]
	for _, obj := range s.sortedLocked() {
		events = append(events, source.Event[T]{Type: source.Added, Item: source.ItemOf(obj)})
	}
	if bookmark {
		e := source.Event[T]{Type: source.Bookmark, InitialEventsEnd: true}
		e.ResourceVersion = rv(s.version)
		events = append(events, e)
	}
	return events
}

func (s *Static[T]) close(w *staticWatch[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

// next takes the next batch. It copies the objects, so that each watch has its
// own.
func (s *Static[T]) next(w *staticWatch[T]) (batch []source.Event[T], ended bool, err error) {
	s.mu.Lock()
	batch = w.pending[:min(len(w.pending), batchEvents)]
	w.pending = w.pending[len(batch):]
	ended, err = w.closed && len(w.pending) == 0, w.err
	s.mu.Unlock()
	out := make([]source.Event[T], len(batch))
	for i, e := range batch {
		if e.Type.HasObject() && e.Err == nil && !isNil(e.Object) {
			e.Object = deepCopy(e.Object)
			if e.Key == (store.Key{}) {
				e.Item = source.ItemOf(e.Object)
			}
		}
		out[i] = e
	}
	return out, ended, err
}

// isNil reports whether an event that a test sent has no object.
func isNil[T any](obj T) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
