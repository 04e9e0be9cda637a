package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
)

// fullKind is an entry of Options.Full.
type fullKind struct {
	form     form
	selector labels.Selector
}

// fullKinds returns the entries of Options.Full by kind.
func (o Options) fullKinds(scheme *runtime.Scheme) (map[schema.GroupVersionKind]fullKind, error) {
	all := make(map[schema.GroupVersionKind]fullKind, len(o.Full))
	var errs []error
	for obj, selector := range o.Full {
		gvk, err := apiutil.GVKForObject(obj, scheme)
		f := formOf(obj)
		switch _, twice := all[gvk]; {
		case err != nil:
			errs = append(errs, fmt.Errorf("option Full: failed to get GVK for type %T: %w", obj, err))
		case f == metadataOnly:
			errs = append(errs, fmt.Errorf("option Full: %s is named by its metadata: name it by the type in which whole objects are held", gvk))
		case twice:
			errs = append(errs, fmt.Errorf("option Full: two entries are of kind %s", gvk))
		case selector == nil:
			errs = append(errs, fmt.Errorf("option Full: %s has no selector: labels.Everything() holds all objects whole, labels.Nothing() none", gvk))
		}
		all[gvk] = fullKind{form: f, selector: selector}
	}
	return all, errors.Join(errs...)
}

// reducing returns a transform that calls another, which may be nil, and reduces the
// objects that are not to be held whole to their metadata.
func (h *storage) reducing(transform toolscache.TransformFunc) toolscache.TransformFunc {
	if h.full == nil {
		return transform
	}
	gvk, full := h.gvk, h.full
	return func(obj any) (any, error) {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		// The labels before the transform, which may change them.
		stored := full.Matches(labels.Set(m.GetLabels()))
		if transform != nil {
			if obj, err = transform(obj); err != nil {
				return nil, err
			}
		}
		if stored {
			return obj, nil
		}
		if m, err = meta.Accessor(obj); err != nil {
			return nil, err
		}
		return metadataOf(gvk, m), nil
	}
}

// showsMetadata reports whether what the kind holds can be shown as metadata: no
// function has changed it that may do something else with metadata.
func (h *storage) showsMetadata() bool {
	if h.full != nil {
		return true
	}
	return !h.transformed.Load() && !h.now.Load().transformed()
}

// transformed reports whether a namespace has a Transform.
func (s *namespaceSet) transformed() bool {
	for _, config := range s.configs {
		if config.Transform != nil {
			return true
		}
	}
	return false
}

// PartialError reports that a typed list selects objects of which Options.Full holds
// only metadata, and that Options.Implicit is RefuseImplicit.
type PartialError struct {
	// Kind is the objects' kind, and Objects is how many of them there are.
	Kind    schema.GroupVersionKind
	Objects int
}

// Error implements error.
func (e *PartialError) Error() string {
	return fmt.Sprintf("of %d objects of kind %s that the list selects only metadata is held: add the labels of Options.Full to the list, list metadata, or read by the manager's API reader", e.Objects, e.Kind)
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
		m, is := stored.(*metav1.PartialObjectMetadata)
		if is && (opts.LabelSelector == nil || opts.LabelSelector.Matches(labels.Set(m.Labels))) {
			n++
		}
	}
	return n
}

// readLive gets an object of which only metadata is held from the server, with
// apiVersion and kind, and applies the Transform of its namespace.
func (c *Cache) readLive(ctx context.Context, k *kind, key client.ObjectKey, out client.Object) error {
	_, config, known := k.settings(key.Namespace)
	lists := k.lists.Load()
	req := lists.client.Get().Resource(lists.resource).Name(key.Name)
	if key.Namespace != metav1.NamespaceAll {
		req = req.Namespace(key.Namespace)
	}
	into := reflect.New(reflect.TypeOf(out).Elem()).Interface().(client.Object)
	if err := req.Do(ctx).Into(into); err != nil {
		return err
	}
	var transform toolscache.TransformFunc
	if known {
		transform = c.transform(config)
	}
	if transform != nil {
		changed, err := transform(into)
		if err != nil {
			return fmt.Errorf("transform of %s %s: %w", k.gvk, key, err)
		}
		if into, _ = changed.(client.Object); reflect.TypeOf(into) != reflect.TypeOf(out) {
			return fmt.Errorf("the transform of %s %s made a %T of a %T", k.gvk, key, changed, out)
		}
	}
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(into).Elem())
	out.GetObjectKind().SetGroupVersionKind(k.gvk)
	return nil
}
