package lag

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// proofSeconds is how long a watch that looks for a missing change may last.
// An API server sends a bookmark two seconds before a watch's end, so that a
// watch of a quiet collection is told after about one second that there is
// nothing.
const proofSeconds = 3

// Collection is a Server that asks with a metadata client: the objects
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

var errEndedEarly = errors.New("watch for what is missing: it ended early")

// Next watches for a moment.
func (c *Collection) Next(ctx context.Context, from string) (Next, error) {
	seconds := int64(proofSeconds)
	began := time.Now()
	w, err := c.Client.Watch(ctx, metav1.ListOptions{
		ResourceVersion:     from,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
		LabelSelector:       c.LabelSelector,
		FieldSelector:       c.FieldSelector,
	})
	if err != nil {
		return Next{}, err
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
		return Next{}, ctx.Err()
	case event, open := <-w.ResultChan():
		if !open {
			if time.Since(began) < (proofSeconds-1)*time.Second {
				// The connection broke, which proves nothing.
				return Next{}, errEndedEarly
			}
			return Next{}, nil
		}
		return readNext(event)
	}
}

func readNext(event watch.Event) (Next, error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
		obj, err := meta.Accessor(event.Object)
		if err != nil {
			return Next{}, fmt.Errorf("watch for what is missing: %w", err)
		}
		return Next{Change: event.Type != watch.Bookmark, Version: obj.GetResourceVersion()}, nil
	}
	return Next{}, fmt.Errorf("watch for what is missing: %w", apierrors.FromObject(event.Object))
}
