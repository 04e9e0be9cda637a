package ctrlruntime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/source"
)

// ByObject selects the fields that a cache holds of the objects of a kind: see
// source.Options for Keep and Drop. An object that lacks more than managed fields cannot be
// written back: clients of NewClient refuse it with a *NotWholeError.
type ByObject struct {
	Keep, Drop []string
	// Whole selects the objects that are held whole, by the labels that the server has for
	// them; labels.Everything selects all. It does not limit what is watched. If it is nil
	// and Keep is empty, all are held whole.
	//
	// Without Keep only metadata is held of the others. Informers and reads of metadata
	// have all objects, and the kind has one informer for both types, whichever is used
	// first. Informers and lists of the whole type have the objects that match: one that
	// no longer matches is deleted for handlers. So are those of Hold, and those for which
	// Options.Budget has no room are not. With RefuseImplicit, a list that selects
	// others too fails with a *PartialError. A Get of another object reads it from the
	// server: see OnDemand. The object is not found if the cache's selectors do not select
	// it there. It may be of a later version than the cache has reached, so that a Get after
	// it goes back in time if the cache holds the object whole by then. With Options.Budget or
	// Hold, a Transform that changes whether an object is selected is an error; one that
	// renames an object always is.
	Whole labels.Selector
	// OnDemand is how many bytes the objects may take that Get has read from the server
	// and keeps, each as long as its metadata has the version that was read; 0 keeps none.
	// About the least recently used are forgotten first. Calls that wait for one object share a
	// request. MutationDetection does not watch what is kept. It needs Whole without Keep;
	// labels.Nothing holds only metadata.
	OnDemand int64
}

// lean is an entry of Options.ByObject.
type lean struct {
	ByObject
	form form
	// budget is Options.Budget.
	budget *kinglet.Budget
	// decides is set once the cache looks at the labels of objects that it holds: there is a
	// budget, or Hold was called.
	decides atomic.Bool
}

// hides reports whether some objects are held as metadata, and shown as nothing else.
func (l *lean) hides() bool { return l != nil && l.Whole != nil && len(l.Keep) == 0 }

// leanKinds returns the entries of Options.ByObject by kind.
func (o Options) leanKinds(scheme *runtime.Scheme) (map[schema.GroupVersionKind]*lean, error) {
	all := make(map[schema.GroupVersionKind]*lean, len(o.ByObject))
	var errs []error
	bounded := false
	for obj, by := range o.ByObject {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		l := &lean{ByObject: by, form: formOf(obj), budget: o.Budget}
		switch _, twice := all[gvk]; {
		case err != nil:
			errs = append(errs, fmt.Errorf("option ByObject: failed to get GVK for type %T: %w", obj, err))
		case twice:
			errs = append(errs, fmt.Errorf("option ByObject: two entries are of kind %s", gvk))
		case l.hides() && len(l.Drop) > 0:
			errs = append(errs, fmt.Errorf("option ByObject: %s has Whole and Drop: say by Keep what is held of the other objects", gvk))
		case l.OnDemand < 0 || l.OnDemand > 0 && !l.hides():
			errs = append(errs, fmt.Errorf("option ByObject: %s has OnDemand %d, which needs Whole without Keep, and must not be negative", gvk, l.OnDemand))
		case l.form == metadataOnly && l.Whole != nil:
			errs = append(errs, fmt.Errorf("option ByObject: %s is named by its metadata: name it by the type in which whole objects are held", gvk))
		}
		if err := (source.Options{Keep: by.Keep, Drop: by.Drop}).CheckFields(obj); err != nil {
			errs = append(errs, fmt.Errorf("option ByObject: %s: %w", gvk, err))
		}
		l.decides.Store(o.Budget != nil)
		all[gvk] = l
		bounded = bounded || l.hides()
	}
	if o.Budget != nil && !bounded {
		errs = append(errs, errors.New("option Budget: it bounds what is held whole of kinds with Whole and without Keep, and ByObject has none"))
	}
	return all, errors.Join(errs...)
}

// apply makes a scope hold what the entry says. It may be nil.
func (l *lean) apply(scope *kingletcache.ScopedListerWatcher) {
	if l == nil {
		return
	}
	scope.Keep, scope.Drop = l.Keep, append(scope.Drop, l.Drop...)
	if l.hides() {
		scope.Keep = []string{"metadata"} // which informers of metadata show
	} else {
		scope.WholeLabels = l.Whole
	}
}

// transform returns the Transform of a namespace, which may be nil. It has to leave names, and
// the labels that Whole selects by, if they are still needed.
func (l *lean) transform(f toolscache.TransformFunc) kingletcache.TransformFunc {
	if f == nil || !l.hides() {
		return kingletcache.TransformFunc(f)
	}
	selected := func(obj any) bool {
		m, err := meta.Accessor(obj)
		return err == nil && l.Whole.Matches(labels.Set(m.GetLabels()))
	}
	key := func(obj any) (key client.ObjectKey) {
		if m, err := meta.Accessor(obj); err == nil {
			key = client.ObjectKey{Namespace: m.GetNamespace(), Name: m.GetName()}
		}
		return key
	}
	return func(obj any) (any, error) {
		before, name := selected(obj), key(obj)
		out, err := f(obj)
		if err == nil && key(out) != name {
			err = fmt.Errorf("the Transform makes it %s, by which the server cannot be asked for it: ByObject.Whole needs the names that objects have there", key(out))
		}
		if err == nil && l.decides.Load() && selected(out) != before {
			err = errors.New("the Transform changes the labels by which ByObject.Whole selects the object, which a Budget and Hold need")
		}
		return out, err
	}
}

// onDemand returns the options of an informer that hides objects.
func (l *lean) onDemand() *kinglet.OnDemandOptions[any] {
	if !l.hides() {
		return nil
	}
	// No object is of one byte.
	return &kinglet.OnDemandOptions[any]{Bytes: max(l.OnDemand, 1), WholeLabels: l.Whole, Budget: l.budget}
}

// showsMetadata reports whether what the kind holds can be shown as metadata: all of it is
// there, and no function has changed it that may do something else with metadata.
func (h *storage) showsMetadata() bool {
	switch {
	case h.lean.hides():
		return true
	case h.lean != nil && (len(h.lean.Keep) > 0 || len(h.lean.Drop) > 0):
		return false
	}
	return !h.transforms()
}

// transforms reports whether a Transform may have changed what the kind holds.
func (h *storage) transforms() bool { return h.transformed.Load() || h.now.Load().transformed() }

// transformed reports whether a namespace has a Transform.
func (s *namespaceSet) transformed() bool {
	for _, config := range s.configs {
		if config.Transform != nil {
			return true
		}
	}
	return false
}

// NotWholeError reports a write of an object that was read from a cache which holds only
// some of its fields: see ByObject. The write would remove the others.
type NotWholeError struct {
	Kind schema.GroupVersionKind
	Key  client.ObjectKey
	// Verb is "create", "update", "patch" or "apply".
	Verb string
}

// Error implements error.
func (e *NotWholeError) Error() string {
	return fmt.Sprintf("cannot %s %s %s: the cache it was read from holds only some of its fields, and the others would be lost: use Patch, with a base that came from the cache as well, or Get it live with the manager's API reader, into a new object", e.Verb, e.Kind.Kind, e.Key)
}

// refuse returns the error for a write of an object that is not whole.
func (c *recordingClient) refuse(verb string, obj client.Object) error {
	if !source.IsPartial(obj) {
		return nil
	}
	e := &NotWholeError{Key: client.ObjectKeyFromObject(obj), Verb: verb}
	e.Kind, _ = c.GroupVersionKindFor(obj) // the client's error, if there is one, is as good without
	return e
}

// patched makes a patch with an object, or with the body of a subresource. It has the mark if
// it would write the object back: an apply of it, or its difference from a whole one. If it
// only removes the mark, which no server has, the program has replaced the annotations. The
// server answers with a whole object, which is decoded into the object if there is no body.
func (c *recordingClient) patched(obj client.Object, patch client.Patch, body client.Object, do func(client.Patch) error) error {
	from := obj
	if body != nil {
		from = body
	}
	made := madePatch{Patch: patch}
	made.data, made.err = patch.Data(from)
	data := bytes.ReplaceAll(made.data, []byte(`"`+objectmeta.PartialAnnotation+`":null`), nil)
	if made.err == nil && bytes.Contains(data, []byte(objectmeta.Partial)) {
		if err := c.refuse("patch", from); err != nil {
			return err
		}
	}
	err := do(made)
	if err == nil && body == nil {
		objectmeta.MarkWhole(obj)
	}
	return err
}

// madePatch is a patch whose data has been computed: a program's own may count the calls.
type madePatch struct {
	client.Patch
	data []byte
	err  error
}

// Data implements client.Patch.
func (p madePatch) Data(client.Object) ([]byte, error) { return p.data, p.err }

// applied makes an apply of obj.
func (c *recordingClient) applied(obj runtime.ApplyConfiguration, do func() error) error {
	if u, ok := obj.(client.Object); ok {
		if err := c.refuse("apply", u); err != nil {
			return err
		}
	}
	return do()
}

// PartialError reports that a typed list selects objects of which only metadata is held: as
// Options.ByObject says, and Options.Implicit is RefuseImplicit, or for want of room.
type PartialError struct {
	// Kind is the objects' kind, and Objects is how many of them there are.
	Kind    schema.GroupVersionKind
	Objects int
	// Short: ByObject.Whole selects the objects, and Options.Budget has no room for them.
	Short bool
}

// Error implements error.
func (e *PartialError) Error() string {
	if e.Short {
		return fmt.Sprintf("of %d objects of kind %s that the list may select only metadata is held, since Options.Budget has no room for more: Get them one by one, list metadata, or read by the manager's API reader", e.Objects, e.Kind)
	}
	return fmt.Sprintf("of %d objects of kind %s that the list selects only metadata is held: add the labels of Whole in Options.ByObject to the list, list metadata, or read by the manager's API reader", e.Objects, e.Kind)
}

// partial counts the objects that a list selects by namespace and labels and of which
// only metadata is held, and among them those that are short of room. It ignores the field
// selector, because the fields are not known.
func (k *kind) partial(snap kinglet.Snapshot[any], opts *client.ListOptions) (n, short int) {
	all := snap.All()
	if opts.Namespace != "" {
		all = snap.Prefix(kinglet.Key{Namespace: opts.Namespace})
	}
	for stored := range all {
		m, err := meta.Accessor(stored)
		if err == nil && source.IsPartial(m) && (opts.LabelSelector == nil || opts.LabelSelector.Matches(labels.Set(m.GetLabels()))) {
			n++
			if k.lean.short(m) {
				short++
			}
		}
	}
	return n, short
}

// short reports whether of an object only metadata is held for want of room.
func (l *lean) short(m metav1.Object) bool {
	return l.budget != nil && source.IsPartial(m) && l.Whole.Matches(labels.Set(m.GetLabels()))
}

// shown is the convert function of a kindInformer that hides the objects held as metadata,
// except those that are short of room.
func (l *lean) shown(stored any) (any, bool) {
	m, err := meta.Accessor(stored)
	return stored, err != nil || !source.IsPartial(m) || l.short(m)
}

// getWhole gets an object of which only metadata is held. The caller has waited for own
// writes, or does not want to.
func (k *kind) getWhole(ctx context.Context, key kinglet.Key, out client.Object, asked *bool) error {
	obj, err := k.informer.OnDemand().Get(kinglet.WithoutOwnWrites(ctx), key)
	if err != nil {
		return err
	}
	f := filling{kind: k, asked: asked}
	return f.object(out, obj, key.Namespace)
}

// Hold makes a cache of this package hold the objects of obj's kind under keys whole from now
// on, whether they exist or not, beside those of ByObject.Whole: see kinglet.OnDemand.Hold.
// Informers and lists of the kind have them from then on. The kind needs an entry in
// Options.ByObject with Whole and without Keep. Hold makes an informer if there is none; it
// does not block for its objects. What Hold began ends once the informers of all forms of the
// kind have been removed.
//
// The error is a *ForeignCacheError for a cache of another package.
func Hold(c cache.Cache, obj client.Object, keys ...client.ObjectKey) error {
	return hold(c, obj, keys, (*kinglet.OnDemand[any]).Hold)
}

// Release ends what Hold began: see kinglet.OnDemand.Release.
func Release(c cache.Cache, obj client.Object, keys ...client.ObjectKey) error {
	return hold(c, obj, keys, (*kinglet.OnDemand[any]).Release)
}

func hold(c cache.Cache, obj client.Object, names []client.ObjectKey, do func(*kinglet.OnDemand[any], ...kinglet.Key)) error {
	ours, ok := c.(*Cache)
	if !ok {
		return &ForeignCacheError{Cache: c}
	}
	gvk, err := apiutil.GVKForObject(obj, ours.settings.Scheme)
	if err != nil {
		return fmt.Errorf("hold objects of a %T: %w", obj, err)
	}
	l := ours.lean[gvk]
	if !l.hides() {
		return fmt.Errorf("hold objects of %s: option ByObject needs an entry of the kind with Whole (labels.Nothing holds no other object whole) and without Keep", gvk)
	}
	k, _, _, err := ours.kindOf(gvk, l.form)
	if err != nil {
		return fmt.Errorf("hold objects of %s: %w", gvk, err)
	}
	l.decides.Store(true)
	keys := make([]kinglet.Key, len(names))
	for i, name := range names {
		keys[i] = kinglet.Key{Namespace: name.Namespace, Name: name.Name}
		if !k.now.Load().namespaced {
			keys[i].Namespace = metav1.NamespaceAll
		}
	}
	do(k.informer.OnDemand(), keys...)
	return nil
}
