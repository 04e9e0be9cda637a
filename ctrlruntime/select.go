package ctrlruntime

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/store"
)

// everywhere stands for all namespaces in the values of an index.
const everywhere = "__all_namespaces"

// indexName returns the name of the index of a field.
func indexName(field string) string { return "field:" + field }

// indexValue returns the value under which an index holds value in a namespace, or in
// all namespaces if namespace is empty.
func indexValue(namespace, value string) string {
	return cmp.Or(namespace, everywhere) + "/" + value
}

// indexers returns the index of a field: each value, in the object's namespace and in
// all namespaces.
func indexers(field string, extract client.IndexerFunc) toolscache.Indexers {
	return toolscache.Indexers{indexName(field): func(stored any) ([]string, error) {
		obj, ok := stored.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no client.Object", stored)
		}
		ns, raw := obj.GetNamespace(), extract(obj)
		values := make([]string, 0, 2*len(raw))
		for _, value := range raw {
			values = append(values, indexValue("", value))
			if ns != "" {
				values = append(values, indexValue(ns, value))
			}
		}
		return values, nil
	}}
}

// AnyOrder is an option of a list by field selectors. The list returns its objects in no
// particular order, which saves sorting them. With a Limit, it is not specified which
// objects it returns. Other lists are in key order at no cost.
const AnyOrder = anyOrder(true)

type anyOrder bool

// ApplyToList implements client.ListOption. It does nothing: other caches ignore
// AnyOrder.
func (anyOrder) ApplyToList(*client.ListOptions) {}

// inAnyOrder reports whether AnyOrder is among the options of a list.
func inAnyOrder(opts []client.ListOption) bool {
	return slices.ContainsFunc(opts, func(opt client.ListOption) bool { return opt == AnyOrder })
}

// selected returns the objects that match a list's namespace and field selector, in key
// order. The caller applies the label selector. If unordered is set, a list by field
// selectors is in no particular order.
func (k *kind) selected(snap kinglet.Snapshot[any], opts *client.ListOptions, unordered bool) (iter.Seq[any], error) {
	switch {
	case opts.FieldSelector != nil:
		matches, err := k.byFields(opts.FieldSelector, opts.Namespace)
		if err != nil {
			return nil, err
		}
		return k.found(snap, matches, unordered)
	case opts.Namespace != "":
		return snap.Prefix(kinglet.Key{Namespace: opts.Namespace}), nil
	}
	return snap.All(), nil
}

// byFields returns the index matches of a field selector.
func (k *kind) byFields(selector fields.Selector, namespace string) ([]kinglet.IndexMatch, error) {
	requirements := selector.Requirements()
	if len(requirements) == 0 || slices.ContainsFunc(requirements, func(r fields.Requirement) bool {
		return r.Operator != selection.Equals && r.Operator != selection.DoubleEquals
	}) {
		return nil, errors.New("non-exact field matches are not supported by the cache")
	}
	matches := make([]kinglet.IndexMatch, len(requirements))
	for i, r := range requirements {
		matches[i] = kinglet.IndexMatch{Index: k.kindInformer.indexName(indexName(r.Field)), Value: indexValue(namespace, r.Value)}
	}
	return matches, nil
}

// found returns the objects that match several indexes, in key order unless unordered
// is set.
func (k *kind) found(snap kinglet.Snapshot[any], matches []kinglet.IndexMatch, unordered bool) (iter.Seq[any], error) {
	found, err := snap.ByIndexes(matches...)
	if errors.Is(err, store.ErrNoIndex) {
		names := snap.Indexes()
		for _, m := range matches {
			if !slices.Contains(names, m.Index) {
				return nil, fmt.Errorf("Index with name %s does not exist", strings.TrimPrefix(m.Index, k.kindInformer.prefix))
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if unordered {
		return func(yield func(any) bool) {
			for _, obj := range found {
				if !yield(obj) {
					return
				}
			}
		}, nil
	}
	return inKeyOrder(found), nil
}

// inKeyOrder returns objects ordered by their keys.
func inKeyOrder(found iter.Seq2[kinglet.Key, any]) iter.Seq[any] {
	type keyed struct {
		key kinglet.Key
		obj any
	}
	var all []keyed
	for key, obj := range found {
		all = append(all, keyed{key, obj})
	}
	slices.SortFunc(all, func(a, b keyed) int { return a.key.Compare(b.key) })
	return func(yield func(any) bool) {
		for i := range all {
			if !yield(all[i].obj) {
				return
			}
		}
	}
}
