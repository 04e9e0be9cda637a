package conformance

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// origin is a collection in memory that answers lists and watches like an API server:
// each write has the next version, a watch sends what came after its version, and a
// watch-list begins with the existing objects and a bookmark. It fails on demand, and
// records its requests.
type origin struct {
	// These are set before use.

	// newList makes an empty list; nil makes lists of pods.
	newList func() runtime.Object
	// newBookmark makes an empty object; nil makes pods.
	newBookmark func() runtime.Object
	// noWatchList refuses watch-lists as a server without the feature does.
	noWatchList bool
	// pages honours limits, as a server without a watch cache does for every list.
	pages bool
	// room is how many events may wait in a watch; 0 means 1024.
	room int
	// onRequest, if set, is called with each request before the answer.
	onRequest func(request)

	mu sync.Mutex
	// All are guarded by mu.
	version     int
	objects     map[string]runtime.Object
	history     []event
	compacted   int // watches from before this version find it expired
	streams     []*stream
	requests    []request
	listFaults  []error                 // answer the next lists, one each
	watchFaults []error                 // answer the next watches, one each
	listAnswers []func() runtime.Object // replace the next real answers, one each
}

type event struct {
	version int
	watch.Event
}

// request is a request to an origin: a "list", "watch" or "watch-list".
type request struct {
	verb    string
	options metav1.ListOptions
	ctx     context.Context
}

func (r request) String() string {
	return r.verb + " from " + strconv.Quote(r.options.ResourceVersion)
}

// newOrigin makes an origin with objects. Its first write has version 101.
func newOrigin(objects ...runtime.Object) *origin {
	o := &origin{version: 100, objects: map[string]runtime.Object{}}
	for _, obj := range objects {
		o.put(obj)
	}
	return o
}

func keyOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic("BUG: an object without metadata in an origin: " + err.Error())
	}
	return m.GetNamespace() + "/" + m.GetName()
}

// put adds an object, or replaces the one of its name. It sets the next version, and a UID
// unless the object has one: that of the object it replaces, or a new one. It keeps a
// copy.
func (o *origin) put(obj runtime.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version++
	obj = obj.DeepCopyObject()
	m, _ := meta.Accessor(obj)
	m.SetResourceVersion(strconv.Itoa(o.version))
	kind := watch.Added
	if old, ok := o.objects[keyOf(obj)]; ok {
		kind = watch.Modified
		if m.GetUID() == "" {
			before, _ := meta.Accessor(old)
			m.SetUID(before.GetUID())
		}
	} else if m.GetUID() == "" {
		m.SetUID(types.UID("uid-" + strconv.Itoa(o.version)))
	}
	o.objects[keyOf(obj)] = obj
	o.sendLocked(watch.Event{Type: kind, Object: obj})
}

// remove deletes an object. As in an API server, that takes a version.
func (o *origin) remove(namespace, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := o.removeLocked(namespace, name).DeepCopyObject()
	m, _ := meta.Accessor(last)
	m.SetResourceVersion(strconv.Itoa(o.version))
	o.sendLocked(watch.Event{Type: watch.Deleted, Object: last})
}

// loseDelete is remove, except that no watch ever sends the event.
func (o *origin) loseDelete(namespace, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeLocked(namespace, name)
}

func (o *origin) removeLocked(namespace, name string) (old runtime.Object) {
	old, ok := o.objects[namespace+"/"+name]
	if !ok {
		panic("BUG: no " + namespace + "/" + name + " to remove")
	}
	delete(o.objects, namespace+"/"+name)
	o.version++
	return old
}

func (o *origin) sendLocked(e watch.Event) {
	o.history = append(o.history, event{o.version, e})
	o.broadcastLocked(e)
}

func (o *origin) broadcastLocked(e watch.Event) {
	o.streams = slices.DeleteFunc(o.streams, func(s *stream) bool { return !s.send(e) })
}

// send sends an event that is no write to the open watches: a bookmark, an error, or
// nonsense.
func (o *origin) send(e watch.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broadcastLocked(e)
}

// bookmark sends a bookmark to the open watches, with the version of a write to another
// collection.
func (o *origin) bookmark() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version++
	o.broadcastLocked(o.bookmarkLocked(nil))
}

func (o *origin) bookmarkLocked(annotations map[string]string) watch.Event {
	var obj runtime.Object = &corev1.Pod{}
	if o.newBookmark != nil {
		obj = o.newBookmark()
	}
	m, _ := meta.Accessor(obj)
	m.SetResourceVersion(strconv.Itoa(o.version))
	m.SetAnnotations(annotations)
	return watch.Event{Type: watch.Bookmark, Object: obj}
}

// end ends the open watches cleanly, as a server does after a while.
func (o *origin) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		s.Stop()
	}
	o.streams = nil
}

// behindItsBack makes changes that no watch sends: it ends the open watches and compacts
// the history before the changes, so that the version of the clients is gone.
func (o *origin) behindItsBack(change func()) {
	o.mu.Lock()
	streams := o.streams
	o.streams = nil
	o.mu.Unlock()
	change()
	o.mu.Lock()
	o.compacted = o.version
	o.history = nil
	o.mu.Unlock()
	for _, s := range streams {
		s.Stop()
	}
}

// failLists makes the next lists fail, one with each error.
func (o *origin) failLists(errs ...error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listFaults = append(o.listFaults, errs...)
}

// failWatches makes the next watches fail, watch-lists included.
func (o *origin) failWatches(errs ...error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watchFaults = append(o.watchFaults, errs...)
}

// answerLists sets the answers of the next lists.
func (o *origin) answerLists(lists ...func() runtime.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listAnswers = append(o.listAnswers, lists...)
}

// probe reports whether a request only asks for the server's version, which an engine may
// do whenever it is in doubt.
func (r request) probe() bool {
	return r.verb == "list" && r.options.Limit == 1 && r.options.ResourceVersion == "" && r.options.Continue == ""
}

// asked returns the requests since the last call.
func (o *origin) asked() []request {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.requests
	o.requests = nil
	return slices.DeleteFunc(list, request.probe)
}

// verbs returns the result of asked as text.
func (o *origin) verbs() []string {
	var list []string
	for _, r := range o.asked() {
		list = append(list, r.String())
	}
	return list
}

// open counts the watches that have not been stopped.
func (o *origin) open() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams = slices.DeleteFunc(o.streams, (*stream).stopped)
	return len(o.streams)
}

func (o *origin) takeRequest(r request) (fault error) {
	o.mu.Lock()
	o.requests = append(o.requests, r)
	faults := &o.watchFaults
	if r.verb == "list" {
		faults = &o.listFaults
	}
	if len(*faults) > 0 {
		fault = (*faults)[0]
		*faults = (*faults)[1:]
	}
	o.mu.Unlock()
	if o.onRequest != nil {
		o.onRequest(r)
	}
	return fault
}

// ListWithContext answers as an API server does.
func (o *origin) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if err := o.takeRequest(request{"list", options, ctx}); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.listAnswers) > 0 {
		list := o.listAnswers[0]
		o.listAnswers = o.listAnswers[1:]
		return list(), nil
	}
	if err := o.tooLargeLocked(options.ResourceVersion); err != nil {
		return nil, err
	}
	objects := o.sortedLocked()
	list := o.emptyListLocked()
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion(strconv.Itoa(o.version))
	if options.Continue != "" {
		version, from, _ := strings.Cut(options.Continue, ":")
		m.SetResourceVersion(version)
		start, err := strconv.Atoi(from)
		if err != nil || start > len(objects) {
			return nil, apierrors.NewBadRequest("continue token")
		}
		objects = objects[start:]
	}
	if o.pages && options.Limit > 0 && int64(len(objects)) > options.Limit {
		done := len(o.objects) - len(objects) + int(options.Limit)
		m.SetContinue(m.GetResourceVersion() + ":" + strconv.Itoa(done))
		objects = objects[:options.Limit]
	}
	return list, meta.SetList(list, objects)
}

// List is ListWithContext without a context.
func (o *origin) List(options metav1.ListOptions) (runtime.Object, error) {
	return o.ListWithContext(context.Background(), options)
}

func (o *origin) emptyListLocked() runtime.Object {
	if o.newList != nil {
		return o.newList()
	}
	return &corev1.PodList{}
}

func (o *origin) sortedLocked() []runtime.Object {
	var list []runtime.Object
	for _, obj := range o.objects {
		list = append(list, obj.DeepCopyObject())
	}
	slices.SortFunc(list, func(a, b runtime.Object) int { return strings.Compare(keyOf(a), keyOf(b)) })
	return list
}

func (o *origin) tooLargeLocked(version string) error {
	v, err := strconv.Atoi(version)
	if err != nil || v <= o.version {
		return nil
	}
	status := apierrors.NewTimeoutError("Too large resource version", 1)
	status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return status
}

// WatchWithContext answers as an API server does.
func (o *origin) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	verb := "watch"
	if initial {
		verb = "watch-list"
	}
	if err := o.takeRequest(request{verb, options, ctx}); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.tooLargeLocked(options.ResourceVersion); err != nil {
		return nil, err
	}
	room := o.room
	if room == 0 {
		room = 1024
	}
	s := &stream{events: make(chan watch.Event, room)}
	switch {
	case initial && o.noWatchList:
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: "meta.k8s.io", Kind: "ListOptions"}, "", nil)
	case initial || options.ResourceVersion == "" || options.ResourceVersion == "0":
		for _, obj := range o.sortedLocked() {
			s.send(watch.Event{Type: watch.Added, Object: obj})
		}
		if initial {
			s.send(o.bookmarkLocked(map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
		}
	default:
		from, err := strconv.Atoi(options.ResourceVersion)
		if err != nil {
			return nil, apierrors.NewBadRequest("resource version")
		}
		if from < o.compacted {
			return nil, apierrors.NewResourceExpired("too old resource version")
		}
		for _, e := range o.history {
			if e.version > from {
				s.send(e.Event)
			}
		}
	}
	o.streams = append(o.streams, s)
	return s, nil
}

// Watch is WatchWithContext without a context.
func (o *origin) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return o.WatchWithContext(context.Background(), options)
}

// stream is a watch of an origin.
type stream struct {
	events chan watch.Event

	mu     sync.Mutex
	closed bool // guarded by mu, and so is sending to and closing events
}

// send reports whether the watch was still open.
func (s *stream) send(e watch.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	select {
	case s.events <- watch.Event{Type: e.Type, Object: copied(e.Object)}:
		return true
	default:
		panic(errors.New("BUG: a watch of an origin has no more room"))
	}
}

// copied is a copy of what may be nil: two clients never share an object.
func copied(obj runtime.Object) runtime.Object {
	if obj == nil {
		return nil
	}
	return obj.DeepCopyObject()
}

func (s *stream) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.events)
	}
}

func (s *stream) ResultChan() <-chan watch.Event { return s.events }

func (s *stream) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
