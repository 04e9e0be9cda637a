package ctrlruntime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/engine/readthrough"
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
	// no longer matches is deleted for handlers. With RefuseImplicit, a list that selects
	// others too fails with a *PartialError. A Get of another object reads it from the
	// server: see OnDemand. The object is not found if the cache's selectors do not select
	// it there. It may be of a later version than the cache has reached, so that a Get after
	// it goes back in time if the cache holds the object whole by then.
	Whole labels.Selector
	// OnDemand is how many bytes the objects may take that Get has read from the server
	// and keeps, each as long as its metadata has the version that was read; 0 keeps none.
	// The least recently used are forgotten first. Calls that wait for one object share a
	// request. It needs Whole without Keep; labels.Nothing holds only metadata.
	OnDemand int64
}

// lean is an entry of Options.ByObject.
type lean struct {
	ByObject
	form form
}

// hides reports whether some objects are held as metadata, and shown as nothing else.
func (l *lean) hides() bool { return l != nil && l.Whole != nil && len(l.Keep) == 0 }

// leanKinds returns the entries of Options.ByObject by kind.
func (o Options) leanKinds(scheme *runtime.Scheme) (map[schema.GroupVersionKind]*lean, error) {
	all := make(map[schema.GroupVersionKind]*lean, len(o.ByObject))
	var errs []error
	for obj, by := range o.ByObject {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		l := &lean{ByObject: by, form: formOf(obj)}
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
		all[gvk] = l
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
	}
	scope.WholeLabels = l.Whole
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
func (c *recordingClient) patched(obj client.Object, patch client.Patch, body client.Object, do func() error) error {
	from := obj
	if body != nil {
		from = body
	}
	data, err := patch.Data(from)
	data = bytes.ReplaceAll(data, []byte(`"`+objectmeta.PartialAnnotation+`":null`), nil)
	if err == nil && bytes.Contains(data, []byte(objectmeta.Partial)) {
		if err := c.refuse("patch", from); err != nil {
			return err
		}
	}
	err = do()
	if err == nil && body == nil {
		objectmeta.MarkWhole(obj)
	}
	return err
}

// applied makes an apply of obj.
func (c *recordingClient) applied(obj runtime.ApplyConfiguration, do func() error) error {
	if u, ok := obj.(client.Object); ok {
		if err := c.refuse("apply", u); err != nil {
			return err
		}
	}
	return do()
}

// PartialError reports that a typed list selects objects of which Options.ByObject
// holds only metadata, and that Options.Implicit is RefuseImplicit.
type PartialError struct {
	// Kind is the objects' kind, and Objects is how many of them there are.
	Kind    schema.GroupVersionKind
	Objects int
}

// Error implements error.
func (e *PartialError) Error() string {
	return fmt.Sprintf("of %d objects of kind %s that the list selects only metadata is held: add the labels of Whole in Options.ByObject to the list, list metadata, or read by the manager's API reader", e.Objects, e.Kind)
}

// partial counts the objects that a list selects by namespace and labels and of which
// only metadata is held. It ignores the field selector, because the fields are not
// known.
func (k *kind) partial(snap kinglet.Snapshot[any], opts *client.ListOptions) (n int) {
	if !k.kindInformer.hides {
		return 0
	}
	all := snap.All()
	if opts.Namespace != "" {
		all = snap.Prefix(kinglet.Key{Namespace: opts.Namespace})
	}
	for stored := range all {
		m, err := meta.Accessor(stored)
		if err == nil && source.IsPartial(m) && (opts.LabelSelector == nil || opts.LabelSelector.Matches(labels.Set(m.GetLabels()))) {
			n++
		}
	}
	return n
}

// demand is what Get has read of a kind from the server, and keeps.
type demand struct {
	*readthrough.Cache[client.Object]
	informer *kinglet.Informer[any]
	handler  kinglet.Registration
	// changes counts those of the namespaces' settings, each once it applies to reads.
	changes atomic.Uint64
}

// onDemand returns the demand of a kind; nil if it keeps nothing.
func (c *Cache) onDemand(k *kind) (*demand, error) {
	if k.lean == nil || k.lean.OnDemand == 0 {
		return nil, nil
	}
	d := &demand{informer: k.informer.Kinglet()}
	d.Cache = readthrough.New(readthrough.Options[client.Object]{
		Bytes: k.lean.OnDemand,
		Read: func(ctx context.Context, key kinglet.Key, _ readthrough.State) (client.Object, error) {
			return c.live(ctx, k, key)
		},
		State: func(obj client.Object) readthrough.State { return d.stateOf(obj) },
		Exists: func(key kinglet.Key, state readthrough.State) bool {
			held, ok := d.informer.Store().Get(key)
			now := d.stateOf(held)
			return ok && now.UID == state.UID && now.Epoch == state.Epoch
		},
	})
	var err error
	d.handler, err = d.informer.AddHandler(kinglet.HandlerFunc[any](d.forget), kinglet.HandlerOptions{Name: "on demand"})
	return d, err
}

// forget is a handler.
func (d *demand) forget(_ context.Context, changes []kinglet.Change[any]) {
	for i := range changes {
		c := &changes[i]
		var now readthrough.State
		if c.Type != kinglet.Deleted {
			now = d.stateOf(c.New)
		}
		d.Forget(c.Key, now)
	}
}

func (d *demand) stateOf(obj any) readthrough.State {
	m, err := meta.Accessor(obj)
	if err != nil {
		return readthrough.State{}
	}
	// Neither part ever decreases, so the sum changes with each.
	return readthrough.State{UID: m.GetUID(), Version: m.GetResourceVersion(), Epoch: d.informer.Status().Epoch + d.changes.Load()}
}

// getLive gets an object of which only metadata is held.
func (c *Cache) getLive(ctx context.Context, k *kind, held any, out client.Object, asked *bool) error {
	metadata, ok := held.(client.Object)
	if !ok {
		return fmt.Errorf("cache contained %T, which is not an Object", held)
	}
	key := kinglet.Key{Namespace: metadata.GetNamespace(), Name: metadata.GetName()}
	var obj client.Object
	var err error
	if k.demand != nil {
		obj, err = k.demand.Get(ctx, key, k.demand.stateOf(metadata))
	} else {
		obj, err = c.live(ctx, k, key)
		asked = new(true) // nobody else has it
	}
	if err != nil {
		return err
	}
	f := filling{kind: k, asked: asked}
	return f.object(out, obj, key.Namespace)
}

// live gets an object from the server, if the settings of its namespace select it, with apiVersion and kind, and applies the Transform
// of its namespace.
func (c *Cache) live(ctx context.Context, k *kind, key kinglet.Key) (client.Object, error) {
	_, config, known := k.settings(key.Namespace)
	into, err := c.fetch(ctx, k, key, config)
	if err != nil {
		return nil, err
	}
	into.GetObjectKind().SetGroupVersionKind(k.gvk)
	if !known {
		return into, nil
	}
	transform := c.transform(config)
	if transform == nil {
		return into, nil
	}
	changed, err := transform(into)
	if err != nil {
		return nil, fmt.Errorf("transform of %s %s: %w", k.gvk, key, err)
	}
	obj, _ := changed.(client.Object)
	if reflect.TypeOf(changed) != reflect.TypeOf(into) {
		return nil, fmt.Errorf("the transform of %s %s made a %T of a %T", k.gvk, key, changed, into)
	}
	return obj, nil
}

// fetch gets an object from the server, if config selects it. Only the server can evaluate every
// field selector, so with selectors the request is a list of one name.
func (c *Cache) fetch(ctx context.Context, k *kind, key kinglet.Key, config *cache.Config) (client.Object, error) {
	lists := k.lists.Load()
	req := lists.client.Get().Resource(lists.resource)
	if key.Namespace != metav1.NamespaceAll {
		req = req.Namespace(key.Namespace)
	}
	if config == nil || config.LabelSelector == nil && config.FieldSelector == nil {
		into := reflect.New(reflect.TypeOf(k.example).Elem()).Interface().(client.Object)
		return into, req.Name(key.Name).Do(ctx).Into(into)
	}
	opts := client.ListOptions{LabelSelector: config.LabelSelector, FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name)}
	if config.FieldSelector != nil {
		opts.FieldSelector = fields.AndSelectors(opts.FieldSelector, config.FieldSelector)
	}
	list, err := newOf(c.settings.Scheme, k.gvk.GroupVersion().WithKind(k.gvk.Kind+"List"), lists.form, &unstructured.UnstructuredList{}, nil)
	if err == nil {
		err = req.SpecificallyVersionedParams(opts.AsListOptions(), metav1.ParameterCodec, metav1.Unversioned).Do(ctx).Into(list)
	}
	if err != nil {
		return nil, err
	}
	objs, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, obj := range objs {
		if obj, ok := obj.(client.Object); ok {
			return obj, nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: k.gvk.Group, Resource: lists.resource}, key.Name)
}
