// Package lagserver asks a server about one collection, for package lag.
package lagserver

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"github.com/kinglet-go/kinglet/internal/lag"
)

// Collection is a lag.Server that asks with a metadata client: the objects
// themselves, which may be large, stay where they are.
type Collection struct {
	// Client is for the resource, and its namespace if there is one.
	Client metadata.ResourceInterface
	// LabelSelector and FieldSelector are the informer's.
	LabelSelector, FieldSelector string
}

// Version lists at most one object. resourceVersion is left empty, so that
// the answer is no older than the question.
func (c *Collection) Version(ctx context.Context) (string, int64, error) {
	// Without selectors, which could make the server look through everything
	// for the one object, and with which it does not say how many remain.
	opts := metav1.ListOptions{Limit: 1}
	list, err := c.Client.List(ctx, opts)
	if apierrors.IsForbidden(err) && c.selects() {
		// Permission may be for the selection only.
		opts.LabelSelector, opts.FieldSelector = c.LabelSelector, c.FieldSelector
		list, err = c.Client.List(ctx, opts)
	}
	if err != nil {
		return "", -1, err
	}
	objects := int64(-1)
	if !c.selects() && (list.Continue == "" || list.RemainingItemCount != nil) {
		objects = int64(len(list.Items))
		if list.RemainingItemCount != nil {
			objects += *list.RemainingItemCount
		}
	}
	return list.ResourceVersion, objects, nil
}

func (c *Collection) selects() bool { return c.LabelSelector != "" || c.FieldSelector != "" }

// Next watches for a moment.
func (c *Collection) Next(ctx context.Context, from string) (lag.Next, error) {
	seconds := int64(lag.ProofTimeout / time.Second)
	began := time.Now()
	w, err := c.Client.Watch(ctx, metav1.ListOptions{
		ResourceVersion:     from,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
		LabelSelector:       c.LabelSelector,
		FieldSelector:       c.FieldSelector,
	})
	if err != nil {
		return lag.Next{}, err
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
		return lag.Next{}, ctx.Err()
	case event, open := <-w.ResultChan():
		if !open {
			return lag.Nothing(began)
		}
		return readNext(event)
	}
}

func readNext(event watch.Event) (lag.Next, error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		obj, err := meta.Accessor(event.Object)
		if err != nil {
			return lag.Next{}, fmt.Errorf("watch for what is missing: %w", err)
		}
		return lag.Next{Change: event.Type != watch.Bookmark, Version: obj.GetResourceVersion()}, nil
	}
	return lag.Next{}, fmt.Errorf("watch for what is missing: %w", apierrors.FromObject(event.Object))
}
