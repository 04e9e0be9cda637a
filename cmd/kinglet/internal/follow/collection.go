package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/eventlog"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/resolve"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/screen"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// maxPending bounds the events of one resource that wait to be shown.
	// Beyond it, updates of one object are shown as one.
	maxPending = 4096
	// maxWrite is about how much is written at once.
	maxWrite = 64 << 10
)

// collection is one resource that is followed.
type collection struct {
	name     string
	resource resolve.Resource
	subject  trouble.Subject
	opts     *Options
	informer *kinglet.Informer[*unstructured.Unstructured]
	server   metadata.ResourceInterface // of the same collection
	notices  *notices
	// broken is called when stdout cannot be written to.
	broken func(error)

	added, modified, deleted, errors atomic.Int64
	expected                         atomic.Int64 // objects, as the server said at the start; 0 if it did not
	buf                              []byte       // the handler's own

	// The rest belongs to the session.
	removeBar    func()
	began        time.Time
	synced       bool
	failingSince time.Time // zero while nothing fails
}

func newCollection(opts *Options, resource resolve.Resource, name string, client metadata.Interface, n *notices, broken func(error)) (*collection, error) {
	c := &collection{name: name, resource: resource, subject: opts.Subject, opts: opts, notices: n, broken: broken}
	namespace := ""
	if resource.Namespaced {
		namespace = opts.Namespace
	}
	c.subject.Resource, c.subject.Namespaced, c.subject.Namespace = resource.String(), resource.Namespaced, namespace

	src, err := source.FromConfig[*unstructured.Unstructured](opts.Config, resource.GVR, source.Options{
		Namespace:     namespace,
		LabelSelector: opts.LabelSelector,
		FieldSelector: opts.FieldSelector,
	})
	if err != nil {
		return nil, err
	}
	c.informer, err = kinglet.New(src, kinglet.Options[*unstructured.Unstructured]{
		Name: name, OnError: c.failed, Logger: slog.New(slog.DiscardHandler), // the command says it in its own way
	})
	if err != nil {
		return nil, err
	}
	_, err = c.informer.AddHandler(kinglet.HandlerFunc[*unstructured.Unstructured](c.handle), kinglet.HandlerOptions{
		Name:         "kinglet watch",
		EveryVersion: true,
		Bound:        maxPending,
	})
	if err != nil {
		return nil, err
	}
	c.server = client.Resource(resource.GVR)
	if namespace != "" {
		c.server = client.Resource(resource.GVR).Namespace(namespace)
	}
	return c, nil
}

// expect asks the server how many objects there are, which a watch-list does not say. A
// server does not count what a selector selects. A failure only costs the bar.
func (c *collection) expect(ctx context.Context) {
	if c.opts.LabelSelector != "" || c.opts.FieldSelector != "" {
		return
	}
	if list, err := c.server.List(ctx, metav1.ListOptions{Limit: 1}); err == nil && list.RemainingItemCount != nil {
		c.expected.Store(int64(len(list.Items)) + *list.RemainingItemCount)
	}
}

// handle writes what changed. It is called on the handler's goroutine; while
// the reader of stdout is slow, it waits, and changes pile up as far as
// maxPending.
func (c *collection) handle(_ context.Context, changes []store.Change[*unstructured.Unstructured]) {
	buf := c.buf[:0]
	now := time.Now()
	for _, change := range changes {
		if change.Reason == store.Initial && !c.opts.ShowInitial {
			if c.opts.Lines != nil {
				c.opts.Lines.Widen(change.Key)
			}
			continue
		}
		c.count(change)
		buf = c.word(buf, eventlog.Event{
			Time: now, Name: c.name, Resource: c.resource.String(), Secret: c.resource.IsSecret(), Change: change,
		})
		if len(buf) >= maxWrite {
			buf = c.write(buf)
		}
	}
	c.buf = c.write(buf)
}

func (c *collection) count(change store.Change[*unstructured.Unstructured]) {
	switch change.Type {
	case store.Added:
		if change.Reason != store.Initial {
			c.added.Add(1)
		}
	case store.Updated:
		c.modified.Add(1)
	case store.Deleted:
		c.deleted.Add(1)
	}
}

func (c *collection) events() int64 { return c.added.Load() + c.modified.Load() + c.deleted.Load() }

func (c *collection) word(buf []byte, e eventlog.Event) []byte {
	if !c.opts.JSON {
		return c.opts.Lines.Append(buf, e)
	}
	buf, err := eventlog.AppendJSON(buf, e)
	if err != nil {
		c.errors.Add(1)
		c.notices.object(c.name, fmt.Sprintf("%s cannot be written as JSON: %v", e.Key, err))
	}
	return buf
}

// write returns buf for use again.
func (c *collection) write(buf []byte) []byte {
	if len(buf) > 0 {
		if err := c.opts.Screen.Event(buf); err != nil {
			c.broken(fmt.Errorf("write to stdout: %w", err))
		}
	}
	return buf[:0]
}

// failed is called by the informer with every error.
func (c *collection) failed(err error) {
	if errors.Is(err, context.Canceled) {
		return // stopping
	}
	c.errors.Add(1)
	if item, ok := errors.AsType[*kinglet.ItemError](err); ok {
		c.notices.object(c.name, trouble.OneLine(item.Error()))
		return
	}
	c.notices.failed(c.name, trouble.Classify(err), trouble.Explain(err, c.subject), time.Now())
}

// view returns the current state of the collection, for display.
func (c *collection) view() view {
	st := c.informer.Status()
	v := view{
		name: c.name, synced: st.Synced, objects: st.Objects, bytes: int64(st.Bytes),
		received: st.Received, total: c.total(st),
	}
	if st.LastError != nil {
		v.trouble = trouble.Classify(st.LastError).Short()
	}
	return v
}

// total estimates how many objects the list under way will have; 0 if it is unknown.
func (c *collection) total(st kinglet.Status) int64 {
	if st.Remaining > 0 {
		return st.Received + st.Remaining
	}
	return c.expected.Load()
}

// progress is what the bar shows while syncing.
func (c *collection) progress() screen.Progress {
	v := c.view()
	return screen.Progress{Name: c.name, Done: v.received, Total: v.total, Text: c.progressText(v)}
}

func (c *collection) progressText(v view) string {
	text := quantity.Count(v.received)
	if v.total > 0 {
		text += " of " + quantity.Count(v.total)
	}
	text += " objects"
	if v.bytes > 0 {
		text += ", " + quantity.Bytes(v.bytes)
	}
	if seconds := time.Since(c.began).Seconds(); seconds > 0.5 {
		text += ", " + quantity.Rate(float64(v.received)/seconds) + "/s"
	}
	return text
}

func (c *collection) summary() CollectionSummary {
	st := c.informer.Status()
	s := CollectionSummary{
		Name: c.name, Synced: st.Synced, Objects: st.Objects,
		Added: c.added.Load(), Modified: c.modified.Load(), Deleted: c.deleted.Load(),
		Bytes: int64(st.Bytes), Errors: c.errors.Load(),
	}
	if st.LastError != nil {
		s.Trouble = trouble.Classify(st.LastError).Short()
	}
	return s
}
