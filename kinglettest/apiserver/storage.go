package apiserver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// firstRevision is that of an empty Storage. A real one has written a few
// things of its own by the time anybody asks.
const firstRevision = 100

// Storage holds the objects of a cluster and what has happened to them. All
// methods are safe for concurrent use, and none blocks. Objects are copied on
// their way in; what is returned is shared and read-only.
type Storage struct {
	mu sync.Mutex
	// revision is that of the last write. Guarded by mu, as all below.
	revision  int64
	compacted int64
	// forgetful is set by Restart; guarded by mu.
	forgetful bool
	resources map[schema.GroupResource]*collection
	changed   chan struct{} // closed and replaced with each write
}

// collection is one resource of a Storage, guarded by its mu.
type collection struct {
	Resource
	current map[types.NamespacedName]runtime.Object
	history []Change
	// since is the revision at which it was defined; a watch from before it has expired.
	since int64
}

// Change is one write, as a Storage remembers it.
type Change struct {
	Revision int64
	// Type is Added, Modified or Deleted.
	Type watch.EventType
	// Object is the new state; for a delete the last one, at the revision of
	// the delete. Old is the state before, nil for what was added.
	Object, Old runtime.Object
}

// Key is that of the object that changed.
func (c *Change) Key() types.NamespacedName { return keyOf(c.Object) }

func keyOf(obj runtime.Object) types.NamespacedName {
	m := metaOf(obj)
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
}

// NewStorage returns an empty Storage of the given resources. It panics if two are of one group
// and name; see [Storage.Define].
func NewStorage(resources ...Resource) *Storage {
	s := &Storage{
		revision: firstRevision, resources: map[schema.GroupResource]*collection{}, changed: make(chan struct{}),
	}
	for _, r := range resources {
		s.Define(r)
	}
	return s
}

// Define adds a resource, as the creation of a CustomResourceDefinition does. It panics if the
// Storage has one of that name and group, in whatever version: a Storage converts nothing.
func (s *Storage) Define(r Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.resources[r.GroupResource()]; c != nil {
		panic(fmt.Sprintf("apiserver: %s is defined in version %s already; Undefine removes it", r.GroupResource(), c.Version))
	}
	c := &collection{Resource: r, current: map[types.NamespacedName]runtime.Object{}}
	if s.revision > firstRevision {
		c.since = s.revision
	}
	s.resources[r.GroupResource()] = c
	s.wakeLocked()
}

// Undefine deletes all objects of a resource and then the resource, as the deletion of a
// CustomResourceDefinition does, but does not wait for finalizers: watches of it end, and requests
// are answered with 404.
func (s *Storage) Undefine(gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.resources[gr]; c != nil {
		for _, obj := range inOrder(c.current) {
			s.writeLocked(c, watch.Deleted, obj.DeepCopyObject(), obj)
		}
	}
	delete(s.resources, gr)
	s.wakeLocked()
}

// changes returns a channel that is closed at the next write.
func (s *Storage) changes() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Revision returns the revision of the last write.
func (s *Storage) Revision() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Compact compacts the history up to revision: a list at one before it has expired, and so has a
// watch, even an open one that has not come that far. History still returns it.
func (s *Storage) Compact(revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compacted = max(s.compacted, min(revision, s.revision))
}

// Skip increases the revision by n without a write to any resource, as writes to resources
// that nobody watches do.
func (s *Storage) Skip(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision += n
	s.wakeLocked()
}

// Restore resets the Storage, objects and revision, to its state at revision, as restoring a
// backup does. The revision must not have been compacted.
func (s *Storage) Restore(revision int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision < s.compacted || revision > s.revision {
		return fmt.Errorf("restore to revision %d: there are %d to %d", revision, s.compacted, s.revision)
	}
	for _, c := range s.resources {
		c.current = c.atLocked(revision)
		i, _ := slices.BinarySearchFunc(c.history, revision+1, func(ch Change, rev int64) int { return cmp.Compare(ch.Revision, rev) })
		c.history, c.since = slices.Clone(c.history[:i]), min(c.since, revision)
	}
	s.revision = revision
	s.wakeLocked()
	return nil
}

// Restart loses everything and starts again from the first revision, as a restarted server
// does that keeps its objects in memory. A watch from a revision that it has not reached
// begins at the present one, because such a server remembers nothing. It does not close
// connections.
func (s *Storage) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.resources {
		c.current, c.history, c.since = map[types.NamespacedName]runtime.Object{}, nil, 0
	}
	s.revision, s.compacted, s.forgetful = firstRevision, 0, true
	s.wakeLocked()
}

// noEarlier is revision, or the earliest that can be listed.
func (s *Storage) noEarlier(revision int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.revision, max(revision, s.compacted, firstRevision))
}

// History returns all events of a resource, the oldest first.
func (s *Storage) History(gr schema.GroupResource) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.resources[gr]; c != nil {
		return slices.Clone(c.history)
	}
	return nil
}

// List returns the objects of a resource in the order of their keys, and the revision of
// that list.
func (s *Storage) List(gr schema.GroupResource) ([]runtime.Object, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.resources[gr]
	if c == nil {
		return nil, s.revision
	}
	return inOrder(c.current), s.revision
}

// get returns an object as it was at a revision.
func (s *Storage) get(gr schema.GroupResource, key types.NamespacedName, revision int64) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.resources[gr]; c != nil {
		objs := c.current
		if revision < s.revision {
			objs = c.atLocked(revision)
		}
		if obj := objs[key]; obj != nil {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(gr, key.Name)
}

// atLocked is what there was at a revision that is not compacted.
func (c *collection) atLocked(revision int64) map[types.NamespacedName]runtime.Object {
	at := maps.Clone(c.current)
	for i := len(c.history) - 1; i >= 0 && c.history[i].Revision > revision; i-- {
		if ch := &c.history[i]; ch.Old == nil {
			delete(at, ch.Key())
		} else {
			at[ch.Key()] = ch.Old
		}
	}
	return at
}

// inOrder sorts objects as etcd has them, by namespace and name.
func inOrder(objs map[types.NamespacedName]runtime.Object) []runtime.Object {
	keys := slices.SortedFunc(maps.Keys(objs), compareKeys)
	out := make([]runtime.Object, len(keys))
	for i, k := range keys {
		out[i] = objs[k]
	}
	return out
}

// compareKeys orders keys as the bytes of "namespace/name": "a-b/x" comes before
// "a/x".
func compareKeys(a, b types.NamespacedName) int {
	return strings.Compare(startKey(a), startKey(b))
}

func (s *Storage) wakeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// resourceOfLocked finds the resource that a request names, or else that of an object by its Go
// type or its kind.
func (s *Storage) resourceOfLocked(obj runtime.Object, in intent) (*collection, error) {
	if in.resource.Resource != "" {
		if c := s.resources[in.resource]; c != nil {
			return c, nil
		}
		return nil, unknownPath()
	}
	kind := obj.GetObjectKind().GroupVersionKind()
	kinds := []schema.GroupVersionKind{kind}
	if kind.Version == "" {
		kinds, _, _ = scheme.Scheme.ObjectKinds(obj) // none is an error, as below
	}
	for _, c := range s.resources {
		if slices.Contains(kinds, c.gvk()) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%T of kind %q: the storage has no such resource", obj, kind)
}

// intent is what a request wants beyond the object that it brings. The zero intent is that
// of a caller in Go.
type intent struct {
	resource schema.GroupResource
	// dry validates and answers, and writes nothing.
	dry bool
	// status is for an update of /status, which raises no generation.
	status bool
	// prepare changes or refuses obj, which takes the place of old, nil for a create.
	prepare func(r *Resource, obj, old runtime.Object) error
}

func (in intent) prepared(r *Resource, obj, old runtime.Object) error {
	if in.prepare == nil {
		return nil
	}
	return in.prepare(r, obj, old)
}

// Create adds an object. The error is AlreadyExists if there is one, Invalid if
// the object has no name; generateName is honoured.
func (s *Storage) Create(obj runtime.Object) (runtime.Object, error) {
	return s.create(obj, intent{})
}

func (s *Storage) create(obj runtime.Object, in intent) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.createLocked(obj, in)
}

func (s *Storage) createLocked(obj runtime.Object, in intent) (runtime.Object, error) {
	c, err := s.resourceOfLocked(obj, in)
	if err != nil {
		return nil, err
	}
	obj, m, err := c.taken(obj)
	if err != nil {
		return nil, err
	}
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(c.generated(m.GetGenerateName(), s.revision+1))
	}
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
	if c.generations() && c.Kind != "CSIDriver" {
		m.SetGeneration(1)
	}
	if err := in.prepared(&c.Resource, obj, nil); err != nil {
		return nil, err
	}
	there := c.current[keyOf(obj)]
	version, _ := strconv.ParseUint(m.GetResourceVersion(), 10, 64) // what is no version counts as none
	switch {
	case m.GetName() == "":
		return nil, apierrors.NewInvalid(c.internalKind(), "", field.ErrorList{
			field.Required(field.NewPath("metadata", "name"), "name or generateName is required"),
		})
	case version != 0 && !in.dry:
		return nil, text("resourceVersion should not be set on objects to be created")
	case there != nil:
		err := apierrors.NewAlreadyExists(c.GroupResource(), m.GetName())
		if m.GetGenerateName() != "" {
			err = apierrors.NewGenerateNameConflict(c.GroupResource(), m.GetName(), 1)
		}
		if metaOf(there).GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
		return nil, err
	case in.dry:
		return stored(obj), nil
	}
	return s.writeLocked(c, watch.Added, obj, nil), nil
}

// Update replaces an object. The error is NotFound if there is none, and Conflict if the
// resource version or UID of obj is not the present one. An update that changes nothing is
// no write.
func (s *Storage) Update(obj runtime.Object) (runtime.Object, error) {
	return s.update(obj, intent{})
}

func (s *Storage) update(obj runtime.Object, in intent) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updateLocked(obj, in)
}

func (s *Storage) updateLocked(obj runtime.Object, in intent) (runtime.Object, error) {
	c, err := s.resourceOfLocked(obj, in)
	if err != nil {
		return nil, err
	}
	obj, m, err := c.taken(obj)
	if err != nil {
		return nil, err
	}
	old := c.current[keyOf(obj)]
	if old == nil {
		return nil, apierrors.NewNotFound(c.GroupResource(), m.GetName())
	}
	was := metaOf(old)
	if uid := m.GetUID(); uid != "" && uid != was.GetUID() {
		return nil, apierrors.NewConflict(c.GroupResource(), m.GetName(),
			text(fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, was.GetUID())))
	}
	if rv := m.GetResourceVersion(); rv != "" {
		switch n, err := strconv.ParseUint(rv, 10, 64); {
		case err != nil:
			return nil, text(err.Error())
		case n == 0:
			m.SetResourceVersion("") // which means the same
		case strconv.FormatUint(n, 10) != was.GetResourceVersion():
			return nil, apierrors.NewConflict(c.GroupResource(), m.GetName(), errModified)
		}
	}
	m.SetUID(was.GetUID())
	m.SetCreationTimestamp(was.GetCreationTimestamp())
	if deleted := was.GetDeletionTimestamp(); deleted != nil || in.prepare == nil {
		m.SetDeletionTimestamp(deleted)
	}
	if grace := was.GetDeletionGracePeriodSeconds(); m.GetDeletionGracePeriodSeconds() == nil || in.prepare == nil {
		m.SetDeletionGracePeriodSeconds(grace)
	}
	m.SetGeneration(was.GetGeneration())
	if err := in.prepared(&c.Resource, obj, old); err != nil {
		return nil, err
	}
	m.SetResourceVersion(was.GetResourceVersion())
	if c.generations() && !in.status && !c.sameDesired(obj, old) {
		m.SetGeneration(was.GetGeneration() + 1)
	}
	switch {
	case in.dry:
		return stored(obj), nil
	case m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0:
		// The update is not written, but answered as if it were: deleteWithoutFinalizers in
		// k8s.io/apiserver/pkg/registry/generic/registry.
		s.writeLocked(c, watch.Deleted, old.DeepCopyObject(), old)
		return obj, nil
	}
	m.SetSelfLink("") // a storage has none
	if equality.Semantic.DeepEqual(obj, old) {
		return old, nil
	}
	return s.writeLocked(c, watch.Modified, obj, old), nil
}

// Put updates an object, or creates it if there is none.
func (s *Storage) Put(obj runtime.Object) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.updateLocked(obj, intent{})
	if apierrors.IsNotFound(err) {
		out, err = s.createLocked(obj, intent{})
	}
	return out, err
}

// text is an error in the words of a real server, answered with 500 and no
// reason.
type text string

// Error implements error.
func (t text) Error() string { return string(t) }

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// check compares preconditions, with a real server's words.
func (r *Resource) check(pre *metav1.Preconditions, is metav1.Object) error {
	conflict := func(format string, want, have any) error {
		return apierrors.NewConflict(schema.GroupResource{Group: r.internalKind().Group, Resource: r.Kind}, is.GetName(), fmt.Errorf(format, want, have))
	}
	switch {
	case pre == nil:
	case pre.UID != nil && *pre.UID != is.GetUID():
		return conflict("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *pre.UID, is.GetUID())
	case pre.ResourceVersion != nil && *pre.ResourceVersion != is.GetResourceVersion():
		return conflict("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *pre.ResourceVersion, is.GetResourceVersion())
	}
	return nil
}

// Delete removes an object, or marks it as deleted if it has finalizers. The error is
// NotFound, or Conflict if the preconditions do not hold.
func (s *Storage) Delete(gr schema.GroupResource, key types.NamespacedName, pre *metav1.Preconditions) (runtime.Object, error) {
	return s.remove(gr, key, pre, false)
}

func (s *Storage) remove(gr schema.GroupResource, key types.NamespacedName, pre *metav1.Preconditions, dry bool) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.resources[gr]
	if c == nil {
		return nil, apierrors.NewNotFound(gr, key.Name)
	}
	old := c.current[key]
	if old == nil {
		return nil, apierrors.NewNotFound(gr, key.Name)
	}
	was := metaOf(old)
	if err := c.check(pre, was); err != nil {
		return nil, err
	}
	obj := old.DeepCopyObject()
	m := metaOf(obj)
	if len(m.GetFinalizers()) == 0 {
		if dry {
			return old, nil
		}
		return s.writeLocked(c, watch.Deleted, obj, old), nil
	}
	if m.GetDeletionTimestamp() != nil {
		return old, nil
	}
	now, grace := metav1.Now().Rfc3339Copy(), int64(0)
	m.SetDeletionTimestamp(&now)
	if m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	m.SetDeletionGracePeriodSeconds(&grace)
	if dry {
		return obj, nil
	}
	return s.writeLocked(c, watch.Modified, obj, old), nil
}

// writeLocked makes the write and returns obj at its new version.
func (s *Storage) writeLocked(c *collection, typ watch.EventType, obj, old runtime.Object) runtime.Object {
	s.revision++
	metaOf(obj).SetResourceVersion(strconv.FormatInt(s.revision, 10))
	if typ == watch.Deleted {
		delete(c.current, keyOf(obj))
	} else {
		c.current[keyOf(obj)] = stored(obj)
	}
	c.history = append(c.history, Change{Revision: s.revision, Type: typ, Object: obj, Old: old})
	s.wakeLocked()
	return obj
}
