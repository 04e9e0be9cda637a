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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/eventlog"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// maxPending bounds the events of one resource that wait to be shown.
	// Beyond it, updates of one object are shown as one.
	maxPending = 4096
	// maxWrite is about how much is written at once.
	maxWrite = 64 << 10
	// maxObjectNotes bounds how many objects that could not be read are named for one
	// collection; the summary counts all of them.
	maxObjectNotes = 10
	// failure is the beginning of the notes of errors.
	failure = "error: "
)

// Resource is a collection that can be listed and watched, or one object of it.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
	// Name is that of the one object to follow; empty for all.
	Name string
}

// String returns the name that identifies the resource to kubectl: "pods",
// "deployments.apps", "pods/web-0".
func (r Resource) String() string {
	text := r.GroupResource().String()
	if r.Name != "" {
		text += "/" + r.Name
	}
	return text
}

// Names returns for each resource a name for people: the plural alone
// where it is the only one of its name, with its group otherwise.
func Names(resources []Resource) []string {
	groups := map[string]map[string]bool{}
	for _, r := range resources {
		if groups[r.Resource] == nil {
			groups[r.Resource] = map[string]bool{}
		}
		groups[r.Resource][r.Group] = true
	}
	names := make([]string, len(resources))
	for i, r := range resources {
		if len(groups[r.Resource]) == 1 {
			r.Group = ""
		}
		names[i] = r.String()
	}
	return names
}

// collection is one resource that is followed.
type collection struct {
	name     string
	resource Resource
	subject  trouble.Subject
	opts     *Options
	informer *kinglet.Informer[*unstructured.Unstructured]
	// stop ends the session, because stdout cannot be written to.
	stop context.CancelCauseFunc

	added, modified, deleted, errors, unreadable atomic.Int64
	buf                                          []byte // the handler's own

	// The rest belongs to the session.
	synced bool
	failures
}

// failures decides which failures of a collection are shown: each once until it changes,
// and its end. One that is often transient is held back.
type failures struct {
	failing *trouble.Trouble // nil while nothing fails
	since   time.Time        // of failing
	told    string           // the failure that was shown last, since it last worked
}

func newCollection(opts *Options, resource Resource, name string, stop context.CancelCauseFunc) (*collection, error) {
	c := &collection{name: name, resource: resource, subject: opts.Subject, opts: opts, stop: stop}
	namespace := ""
	if resource.Namespaced {
		namespace = opts.Namespace
	}
	c.subject.Resource, c.subject.Namespaced, c.subject.Namespace = resource.String(), resource.Namespaced, namespace
	c.subject.Secret = resource.Resource == "secrets"
	selector := opts.FieldSelector
	if resource.Name != "" {
		selector = fields.OneTermEqualSelector(metav1.ObjectNameField, resource.Name).String()
	}
	src, err := source.FromConfig[*unstructured.Unstructured](opts.Config, resource.GroupVersionResource, source.Options{
		Namespace:     namespace,
		LabelSelector: opts.LabelSelector,
		FieldSelector: selector,
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
	return c, err
}

// handle writes what changed. It is called on the handler's goroutine; while
// the reader of stdout is slow, it waits, and changes pile up as far as
// maxPending.
func (c *collection) handle(_ context.Context, changes []store.Change[*unstructured.Unstructured]) {
	buf := c.buf[:0]
	now := time.Now()
	for _, change := range changes {
		if change.Reason == store.Initial && !c.opts.Initial {
			if c.opts.Exists != nil {
				c.opts.Exists(change.Key)
			}
			continue
		}
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
		longer, err := c.opts.Format(buf, eventlog.Event{
			Time: now, Name: c.name, Resource: c.resource.GroupResource().String(), Secret: c.subject.Secret, Change: change,
		})
		if err != nil {
			c.object(fmt.Errorf("%s cannot be written: %w", change.Key, c.shown(err)))
			continue
		}
		if buf = longer; len(buf) >= maxWrite {
			buf = c.write(buf)
		}
	}
	c.buf = c.write(buf)
}

// write returns buf for use again.
func (c *collection) write(buf []byte) []byte {
	if len(buf) > 0 {
		if err := c.opts.Output.Event(buf); err != nil {
			c.stop(fmt.Errorf("write to stdout: %w", err))
		}
	}
	return buf[:0]
}

// failed is called by the informer with every error.
func (c *collection) failed(err error) {
	if item, ok := errors.AsType[*kinglet.ItemError](err); ok {
		if c.subject.Secret {
			item = &kinglet.ItemError{Key: item.Key, Err: c.shown(item.Err)}
		}
		c.object(item)
	} else if !errors.Is(err, context.Canceled) { // stopping
		c.errors.Add(1)
	}
}

// shown returns what may be shown of an error that has come of an object.
func (c *collection) shown(err error) error {
	if c.subject.Secret {
		return errors.New("the error is not shown, since it may have parts of a Secret")
	}
	return err
}

// object notes an object that could not be read or written.
func (c *collection) object(err error) {
	c.errors.Add(1)
	text := failure + c.name + ": " + trouble.OneLine(err.Error())
	switch n := c.unreadable.Add(1); {
	case n == maxObjectNotes:
		text += " (further ones are only counted)"
		fallthrough
	case n < maxObjectNotes:
		c.opts.Output.Note(text)
	}
}

// observe returns what to tell of the collection, without its name.
func (c *collection) observe(now, began time.Time) (notes []string) {
	st := c.informer.Status()
	if st.Synced && !c.synced {
		c.synced = true
		text := quantity.Of(int64(st.Objects), "object")
		if c.subject.Namespace != "" {
			text += " in namespace " + c.subject.Namespace
			if st.Objects == 0 {
				text += " (-n or -A for others)"
			}
		}
		text += " in " + quantity.Duration(now.Sub(began).Round(10*time.Millisecond))
		if st.Bytes > 0 {
			text += " (" + quantity.Bytes(int64(st.Bytes)) + ")"
		}
		notes = append(notes, text)
	}
	var failing *trouble.Trouble
	if st.LastError != nil {
		t := trouble.Explain(st.LastError, c.subject)
		failing = &t
	}
	return append(notes, c.failures.observe(now, failing)...)
}

// observe returns what to tell of a failure, or of none.
func (f *failures) observe(now time.Time, failing *trouble.Trouble) []string {
	was := *f
	f.failing = failing
	if failing == nil {
		f.told = ""
		if was.told == "" {
			return nil
		}
		return []string{"works again after " + quantity.Duration(now.Sub(f.since).Round(100*time.Millisecond))}
	}
	if was.failing == nil {
		f.since = now
	}
	mark := failing.Text
	if failing.Kind == trouble.Unreachable || failing.Kind == trouble.Throttled || failing.Kind == trouble.Server {
		mark = failing.Short() // refused, reset, timed out: the words change from try to try
	}
	if mark == f.told || !failing.Lasting() && now.Sub(f.since) < passing {
		return nil
	}
	f.told = mark
	return []string{failure + failing.Text}
}

// hopeless reports whether the collection will not work before somebody does something.
func (f *failures) hopeless(now time.Time) bool {
	return f.failing != nil && (f.failing.Lasting() || f.failing.Kind == trouble.Unreachable && now.Sub(f.since) >= patience)
}

// view returns the current state of the collection, for display.
func (c *collection) view(took time.Duration) view {
	st := c.informer.Status()
	v := view{
		name: c.name, synced: st.Synced, objects: st.Objects, bytes: int64(st.Bytes), received: st.Received, took: took,
		added: c.added.Load(), modified: c.modified.Load(), deleted: c.deleted.Load(), errors: c.errors.Load(),
	}
	if st.Remaining > 0 {
		v.total = st.Received + st.Remaining
	}
	if c.failing != nil {
		v.trouble = c.failing.Short()
	}
	return v
}
