package sourcetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// StaticObject is what a Static can hold: any API type, *unstructured and
// *metav1.PartialObjectMetadata included.
type StaticObject interface {
	metav1.Object
	runtime.Object
}

// Static is a source in memory, for tests: the test determines the collection,
// its history and its faults. It behaves like one resource of an API
// server: versions rise with each write, an object that is created gets a UID
// of its own, pages of one list are of one version, a watch starts at a
// version or with the state and its bookmark, and a version whose history was
// dropped is answered with 410.
//
// It hands out deep copies, starts no goroutine and reads no clock except for
// source.WatchRequest.Timeout; so it works inside testing/synctest if the watching
// goroutines are all in one bubble with the test. All methods are safe for
// concurrent use, and any number of List and Watch calls may be under way.
type Static[T StaticObject] struct {
	name string

	mu sync.Mutex
	// objects is the state. Invariant: each has its key's name and a version
	// of at most version. guarded by mu
	objects map[store.Key]T
	// version is that of the last write. guarded by mu
	version int64
	// history holds the writes after version compacted, rising. guarded by mu
	history   []source.Event[T]
	compacted int64
	// paged holds, by version, states that continue tokens point into.
	// guarded by mu
	paged map[int64][]T
	// watches are the open ones. guarded by mu
	watches map[*staticWatch[T]]struct{}

	lists, opened  int
	listFault      fault
	watchFault     fault
	watchListFault error
	uids           int64
}

// fault is the error of the next left calls; of all if left is negative.
type fault struct {
	err  error
	left int
}

func (f *fault) next() error {
	if f.left == 0 {
		return nil
	}
	if f.left > 0 {
		f.left--
	}
	return f.err
}

// NewStatic returns a source that holds copies of initial, each at a version
// of its own. An object without a name is held too, so that tests can see what
// becomes of one; of two with the same key the last is held.
func NewStatic[T StaticObject](initial ...T) *Static[T] {
	s := &Static[T]{
		// "0" would mean any version.
		version: 1,
		name:    "static " + reflect.TypeFor[T]().String(),
		objects: map[store.Key]T{},
		paged:   map[int64][]T{},
		watches: map[*staticWatch[T]]struct{}{},
	}
	for _, obj := range initial {
		s.put(source.Added, obj)
	}
	s.compacted = s.version
	s.history = nil
	return s
}

// Traits implements source.Source.
func (s *Static[T]) Traits() source.Traits { return source.Traits{ExactLists: true, Whole: true} }

// ReadAnswer implements source.AnswerReader.
func (s *Static[T]) ReadAnswer(a source.Answer) (source.Written[T], error) {
	return source.ReadObject[T](a)
}

// String implements source.Source.
func (s *Static[T]) String() string { return s.name }

// ResourceVersion returns the version of the last write.
func (s *Static[T]) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rv(s.version)
}

// Objects returns a copy of the state, in key order.
func (s *Static[T]) Objects() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.sortedLocked()
	for i, obj := range state {
		state[i] = deepCopy(obj)
	}
	return state
}

// Add creates an object. It fails if one with that key exists.
func (s *Static[T]) Add(obj T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[staticKey(obj)]; ok {
		return apierrors.NewAlreadyExists(schema.GroupResource{}, staticKey(obj).String())
	}
	s.put(source.Added, obj)
	return nil
}

// Update replaces an object and keeps its UID unless obj has one. It fails if
// there is none with that key. It ignores obj's version.
func (s *Static[T]) Update(obj T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[staticKey(obj)]; !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, staticKey(obj).String())
	}
	s.put(source.Modified, obj)
	return nil
}

// Delete removes the object under key. It fails if there is none.
func (s *Static[T]) Delete(key store.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj, ok := s.objects[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{}, key.String())
	}
	s.put(source.Deleted, obj)
	return nil
}

// put applies one write, whose type must fit the state. The caller holds mu, or
// is the constructor.
func (s *Static[T]) put(t source.EventType, obj T) {
	key := staticKey(obj)
	held, exists := s.objects[key]
	obj = deepCopy(obj)
	s.version++
	obj.SetResourceVersion(rv(s.version))
	switch {
	case obj.GetUID() != "":
	case exists:
		obj.SetUID(held.GetUID())
	default:
		s.uids++
		obj.SetUID(types.UID("static-" + strconv.FormatInt(s.uids, 10)))
	}
	if t == source.Deleted {
		delete(s.objects, key)
	} else {
		s.objects[key] = obj
	}
	e := source.Event[T]{Type: t, Item: source.ItemOf(obj)}
	s.history = append(s.history, e)
	s.sendLocked(e)
}

// Bookmark sends every open watch a bookmark at the current version.
func (s *Static[T]) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendLocked(source.Event[T]{Type: source.Bookmark, Item: source.Item[T]{ResourceVersion: rv(s.version)}})
}

// Send sends events as they are to every open watch, whatever they are: items
// with errors, unknown types, an Error. The state does not change. An Error
// does not end the watch; Disconnect does.
func (s *Static[T]) Send(events ...source.Event[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.sendLocked(e)
	}
}

// Disconnect ends every open watch with err, after its pending events. A nil err
// is a clean end.
func (s *Static[T]) Disconnect(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		w.closed, w.err = true, err
		w.signal()
	}
	clear(s.watches)
}

// Expire drops the history. From now on, a watch from an earlier version and a
// list with an earlier continue token are answered with 410. Open watches are up
// to date and stay open.
func (s *Static[T]) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = s.version
	s.history = nil
	clear(s.paged)
}

// FailLists makes the next n lists fail with err; all of them for n < 0, none
// for 0.
func (s *Static[T]) FailLists(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listFault = fault{err: err, left: n}
}

// FailWatches makes the next n watches fail with err before they send
// anything; all of them for n < 0, none for 0.
func (s *Static[T]) FailWatches(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchFault = fault{err: err, left: n}
}

// RefuseWatchList makes every watch that asks for initial events fail with
// err; nil allows them again.
func (s *Static[T]) RefuseWatchList(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchListFault = err
}

// StaticStats counts what a Static was asked.
type StaticStats struct {
	// Lists and Watches count calls, failed ones too.
	Lists, Watches int
	// Open counts the watches that are open now.
	Open int
}

// Stats returns the counts.
func (s *Static[T]) Stats() StaticStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return StaticStats{Lists: s.lists, Watches: s.opened, Open: len(s.watches)}
}

// sortedLocked returns the state in key order, not copied.
func (s *Static[T]) sortedLocked() []T {
	keys := slices.SortedFunc(maps.Keys(s.objects), store.Key.Compare)
	state := make([]T, len(keys))
	for i, key := range keys {
		state[i] = s.objects[key]
	}
	return state
}

func (s *Static[T]) sendLocked(e source.Event[T]) {
	for w := range s.watches {
		w.pending = append(w.pending, e)
		w.signal()
	}
}

func staticKey[T StaticObject](obj T) store.Key {
	return store.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

func deepCopy[T StaticObject](obj T) T { return obj.DeepCopyObject().(T) }

func rv(v int64) string { return strconv.FormatInt(v, 10) }

func parseRV(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion %q is not a version", s))
	}
	return v, nil
}
