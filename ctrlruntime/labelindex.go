package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/store"
)

// IndexLabel adds an index to the informer of obj's kind and form, by the values of a
// label. Lists whose label selector requires one value of the label, as
// client.MatchingLabels does, look only at the objects that have it; their results stay
// the same. Indexes of labels and of fields are combined. A label may be indexed any
// number of times. Like IndexField, IndexLabel makes the informer if there is none, and
// does not wait for it. The error is a *ForeignCacheError for a cache of another
// package.
func IndexLabel(ctx context.Context, c cache.Cache, obj client.Object, label string) error {
	ours, ok := c.(*Cache)
	if !ok {
		return &ForeignCacheError{Cache: c}
	}
	gvk, err := apiutil.GVKForObject(obj, ours.settings.Scheme)
	if err != nil {
		return fmt.Errorf("index of label %s: %w", label, err)
	}
	k, _, _, err := ours.kindOf(gvk, formOf(obj))
	if err != nil {
		return fmt.Errorf("index of label %s of %s: %w", label, gvk, err)
	}
	// The index is of the held objects, in any form: other kinds that read them use it
	// too.
	err = k.informer.AddIndexers(toolscache.Indexers{labelIndex(label): byLabel(label)})
	if err != nil && !errors.Is(err, store.ErrIndexExists) {
		return fmt.Errorf("index of label %s of %s: %w", label, gvk, err)
	}
	return nil
}

// labelIndex returns the name of the index of a label. Names of fields have no slash
// before a colon.
func labelIndex(label string) string { return "label/:" + label }

// byLabel returns the index function of a label: its value, in the object's namespace
// and in all namespaces.
func byLabel(label string) toolscache.IndexFunc {
	return func(held any) ([]string, error) {
		obj, ok := held.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no client.Object", held)
		}
		value, has := obj.GetLabels()[label]
		if !has {
			return nil, nil
		}
		values := []string{indexValue("", value)}
		if ns := obj.GetNamespace(); ns != "" {
			values = append(values, indexValue(ns, value))
		}
		return values, nil
	}
}

// byLabels returns the matches in indexes of labels that narrow a list's label
// selector. There may be none.
func (k *kind) byLabels(snap kinglet.Snapshot[any], opts *client.ListOptions) (matches []kinglet.IndexMatch) {
	if opts.LabelSelector == nil {
		return nil
	}
	requirements, _ := opts.LabelSelector.Requirements()
	var names []string
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
		default:
			continue
		}
		value, one := r.Values().PopAny()
		if !one || r.Values().Len() != 1 {
			continue
		}
		if names == nil {
			names = snap.Indexes()
		}
		if slices.Contains(names, labelIndex(r.Key())) {
			matches = append(matches, kinglet.IndexMatch{Index: labelIndex(r.Key()), Value: indexValue(opts.Namespace, value)})
		}
	}
	return matches
}
