package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const definitionGroup = "soak.example.com"

// definition is a CustomResourceDefinition that is created and deleted.
type definition struct {
	client dynamic.Interface
	plural string
}

func (d *definition) name() string { return d.plural + "." + definitionGroup }

func (d *definition) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: definitionGroup, Version: "v1", Resource: d.plural}
}

func (d *definition) kind() string { return "Thing" + d.plural[len("things"):] }

func (d *definition) all() dynamic.ResourceInterface {
	return d.client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
}

// create creates the definition, and returns once it is established.
func (d *definition) create(ctx context.Context) error {
	object := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": d.name()},
		"spec": map[string]any{
			"group": definitionGroup,
			"scope": "Namespaced",
			"names": map[string]any{"kind": d.kind(), "plural": d.plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}
	if _, err := d.all().Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		return err
	}
	return until(ctx, d.name()+" to be established", func() (bool, error) {
		got, err := d.all().Get(ctx, d.name(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		// It is null at first.
		conditions, _, _ := unstructured.NestedFieldNoCopy(got.Object, "status", "conditions")
		list, _ := conditions.([]any)
		for _, c := range list {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return true, nil
			}
		}
		return false, nil
	})
}

// add creates an object. A server may not serve a definition that was established just
// before.
func (d *definition) add(ctx context.Context, namespace, name string, round int) (made *unstructured.Unstructured, err error) {
	object := &unstructured.Unstructured{Object: map[string]any{"round": int64(round)}}
	object.SetGroupVersionKind(d.gvr().GroupVersion().WithKind(d.kind()))
	object.SetName(name)
	err = until(ctx, d.name()+" to be served", func() (bool, error) {
		made, err = d.client.Resource(d.gvr()).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) {
			return false, nil
		}
		// The objects of an earlier definition are gone by now.
		return err == nil, err
	})
	return made, err
}

// delete deletes the definition with all of its objects, and returns once it is gone.
func (d *definition) delete(ctx context.Context) error {
	if err := d.all().Delete(ctx, d.name(), metav1.DeleteOptions{}); err != nil {
		return err
	}
	return until(ctx, d.name()+" to be gone", func() (bool, error) {
		_, err := d.all().Get(ctx, d.name(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// until calls done at intervals until it returns true or an error, or ctx ends.
func until(ctx context.Context, what string, done func() (bool, error)) error {
	for {
		switch ok, err := done(); {
		case err != nil:
			return fmt.Errorf("waiting for %s: %w", what, err)
		case ok:
			return nil
		}
		pause(ctx, lookAgain/5)
		if ctx.Err() != nil {
			return fmt.Errorf("waited for %s: %w", what, context.Cause(ctx))
		}
	}
}
