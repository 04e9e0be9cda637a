package kinglet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kinglet-go/kinglet/internal/readthrough"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// DefaultOnDemandBytes is OnDemandOptions.Bytes if that is 0.
const DefaultOnDemandBytes = 64 << 20

// OnDemandOptions are the options of an OnDemand.
type OnDemandOptions[T metav1.Object] struct {
	// Options are those of the informer.
	Options[T]
	// Bytes is how much memory the objects may take that Get has read and keeps, about;
	// 64 MiB if 0. The least recently used are forgotten first.
	Bytes int64
}

// OnDemandStats are what an OnDemand keeps of what Get has read, and its calls: those that
// found an object there, and those that waited for the server.
type OnDemandStats = readthrough.Stats

// OnDemand is an informer that holds the metadata of all objects, and of the others only
// those whole that are held: see Hold. Get reads any other whole from the server. Store,
// Snapshot, indexes and handlers have what is held; source.IsPartial tells an object that is
// not whole, and a server refuses it if it is written back.
//
// Make one with NewOnDemand. All methods are safe for concurrent use.
type OnDemand[T metav1.Object] struct {
	*Informer[T]
	// whole reads whole objects.
	whole  source.Source[T]
	reads  *readthrough.Cache[T]
	reduce func(obj any) (any, error)
	// wake holds a token if there is something in changed.
	wake chan struct{}

	mu sync.Mutex
	// held are the keys of Hold; guarded by mu.
	held map[Key]struct{}
	// changed are keys whose stored object may have another form than it is to have;
	// guarded by mu.
	changed map[Key]struct{}
}

// NewOnDemand returns an informer that starts nothing: see Run. open makes its two sources,
// of the same objects: it adds what it wants to the options that it is given, and passes them
// to source.FromConfig, FromREST or FromListerWatcher. Get's requests are lists of one name,
// which need no other permission than the informer's, and are subject to the rate limit of
// the second source's client.
func NewOnDemand[T metav1.Object](open func(source.Options) (source.Source[T], error), opts OnDemandOptions[T]) (*OnDemand[T], error) {
	if open == nil {
		return nil, errors.New("informer on demand: no source")
	}
	if opts.Bytes < 0 {
		return nil, fmt.Errorf("informer on demand: Bytes is %d, must not be negative", opts.Bytes)
	}
	if opts.Bytes == 0 {
		opts.Bytes = DefaultOnDemandBytes
	}
	o := &OnDemand[T]{wake: make(chan struct{}, 1), held: map[Key]struct{}{}, changed: map[Key]struct{}{}}
	lean, err := open(source.Options{Whole: func(key Key, _ map[string]string, _ []metav1.OwnerReference) bool { return o.holds(key) }})
	if err != nil {
		return nil, err
	}
	if o.whole, err = open(source.Options{}); err != nil {
		return nil, err
	}
	if o.reduce = lean.Traits().Reduce; o.reduce == nil || !o.whole.Traits().ExactLists {
		return nil, fmt.Errorf("informer on demand of %s: the source does not do what its options say: is it made by package source with them?", lean)
	}
	if o.Informer, err = New(lean, opts.Options); err != nil {
		return nil, err
	}
	o.reads = readthrough.New(readthrough.Options[T]{Bytes: opts.Bytes, Read: o.read, State: o.state})
	_, err = o.AddHandler(HandlerFunc[T](o.handle), HandlerOptions{Name: "on demand"})
	return o, err
}

// Run is Informer.Run.
func (o *OnDemand[T]) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { o.settle(ctx) })
	defer beside.Wait()
	defer stop()
	return o.Informer.Run(ctx)
}

// Get returns the object under key, whole, in the state whose metadata the informer has, or a
// later one. It is read-only. If it is not held, Get reads it from the server, with one
// request for all calls that wait for it, and keeps it while the metadata has that version,
// as long as there is room: see OnDemandOptions.Bytes. Before the informer has synced every
// call reads.
//
// Get blocks until that is done, or ctx ends. An object that the informer, or the server,
// does not have is a NotFound (k8s.io/apimachinery/pkg/api/errors); other errors are the
// request's, or those of AwaitOwnWrites.
func (o *OnDemand[T]) Get(ctx context.Context, key Key) (T, error) {
	var none T
	if o.OwnWritesUnsure() {
		if err := o.AwaitOwnWrites(ctx, key); err != nil {
			return none, err
		}
	}
	obj, ok := o.Store().Get(key)
	switch {
	case ok && !source.IsPartial(obj):
		return obj, nil
	case ok:
		return o.reads.Get(ctx, key, o.state(obj))
	case o.HasSynced():
		return none, o.notFound(key)
	}
	return o.reads.Get(ctx, key, readthrough.State{})
}

// Hold makes the store hold the objects under keys whole from now on, whether they exist or
// not, and their handlers receive every change of them whole. It does not block: what exists
// and is not whole yet is read soon, and handlers receive it as an update, of the same
// version. Held before Run, an object comes whole in the first list.
func (o *OnDemand[T]) Hold(keys ...Key) { o.hold(true, keys) }

// Release ends what Hold began. The store soon has the objects' metadata alone again, and
// handlers receive that as an update.
func (o *OnDemand[T]) Release(keys ...Key) { o.hold(false, keys) }

func (o *OnDemand[T]) hold(held bool, keys []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range keys {
		if held {
			o.held[key] = struct{}{}
		} else {
			delete(o.held, key)
		}
		o.changed[key] = struct{}{}
	}
	o.signal()
}

func (o *OnDemand[T]) holds(key Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, held := o.held[key]
	return held
}

// OnDemandStats returns what Get keeps, and how often it was called.
func (o *OnDemand[T]) OnDemandStats() OnDemandStats { return o.reads.Stats() }

func (o *OnDemand[T]) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// handle forgets what was read of earlier versions, and has objects looked at that were
// decoded before their key was held, or released.
func (o *OnDemand[T]) handle(_ context.Context, changes []store.Change[T]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		if c.Type == Deleted {
			o.reads.Forget(c.Key, readthrough.State{})
			continue
		}
		o.reads.Forget(c.Key, o.state(c.New))
		if _, held := o.held[c.Key]; held == source.IsPartial(c.New) {
			o.changed[c.Key] = struct{}{}
			o.signal()
		}
	}
}

// settleRetry is the least time between two attempts to read what is held, which doubles up
// to settleRetryMax.
const (
	settleRetry    = time.Second
	settleRetryMax = 30 * time.Second
)

// settle gives stored objects the form that they are to have, until ctx ends.
func (o *OnDemand[T]) settle(ctx context.Context) {
	retry := settleRetry
	again := time.NewTimer(0)
	defer again.Stop()
	select {
	case <-ctx.Done():
	case <-o.Synced():
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		case <-again.C:
		}
		failed := false
		for _, key := range o.takeChanged() {
			if err := o.settleKey(ctx, key); err != nil && ctx.Err() == nil {
				o.opts.OnError(o.named(fmt.Errorf("%s is held, and could not be read whole: %w", key, err)))
				failed = true
				o.mu.Lock()
				o.changed[key] = struct{}{}
				o.mu.Unlock()
			}
		}
		if !failed {
			retry = settleRetry
			continue
		}
		again.Reset(retry)
		retry = min(2*retry, settleRetryMax)
	}
}

func (o *OnDemand[T]) takeChanged() (keys []Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key := range o.changed {
		keys = append(keys, key)
	}
	clear(o.changed)
	return keys
}

// settleKey gives the stored object of a key the form that it is to have. If it has changed
// meanwhile, that is for handle.
func (o *OnDemand[T]) settleKey(ctx context.Context, key Key) error {
	obj, ok := o.store.Get(key)
	p := o.sources.sourceOf(key)
	held := o.holds(key)
	if !ok || p == nil || held != source.IsPartial(obj) {
		return nil
	}
	if !held {
		reduced, err := o.reduce(obj)
		if err == nil {
			p.sink.Substitute(p.Scope, key, reduced.(T))
		}
		return err
	}
	whole, err := o.reads.Get(ctx, key, o.state(obj))
	switch {
	case apierrors.IsNotFound(err):
		return nil // the watch will tell
	case err != nil:
		return err
	}
	p.sink.Substitute(p.Scope, key, whole)
	return nil
}

func (o *OnDemand[T]) state(obj T) readthrough.State {
	return readthrough.State{UID: o.opts.UID(obj), Version: objectVersion(obj)}
}

// read reads an object in a state, or a later one, from the server.
func (o *OnDemand[T]) read(ctx context.Context, key Key, at readthrough.State) (found T, err error) {
	name := fields.Set{"metadata.name": key.Name}
	if key.Namespace != "" {
		name["metadata.namespace"] = key.Namespace
	}
	req := source.ListRequest[T]{
		FieldSelector: name.AsSelector().String(), ResourceVersion: at.Version, NotOlderThan: at.Version != "",
		Held: func(Key) (none T, _ store.Memo, ok bool) { return none, nil, false },
	}
	err = o.notFound(key)
	failed := o.whole.List(ctx, req, func(page source.Page[T]) error {
		for i := range page.Items {
			if it := &page.Items[i]; it.Key == key { // some servers ignore the selector
				found, err = it.Object, it.Err
			}
		}
		return nil
	})
	if failed != nil {
		err = failed
	}
	return found, err
}

func (o *OnDemand[T]) notFound(key Key) error {
	return apierrors.NewNotFound(o.listed().GroupResource(), key.Name)
}
