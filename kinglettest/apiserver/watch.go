package apiserver

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watching is one watch that is being answered.
type watching struct {
	*call
	server *Server
	send   func(typ watch.EventType, obj runtime.Object, damaged bool) error
	flush  func() error
	// of is what is watched: another resource of its name, defined since, is another one.
	of *collection
	// at is the revision up to which everything has been sent, and begun that
	// from which on changes are sent.
	at, begun int64
	// sent counts events.
	sent int
}

// defaultTimeout is that of a watch without timeoutSeconds. A real server takes a random one, from
// half an hour to an hour: its --min-request-timeout, once to twice.
const defaultTimeout = 45 * time.Minute

// serveWatch answers a watch until it ends. What it returns is nothing to be
// answered with: the answer has begun.
func (s *Server) serveWatch(ctx context.Context, w http.ResponseWriter, r *http.Request, c *call) error {
	// parse lets every watch-list pass, so that Inject is asked about those that
	// are refused here.
	if err := c.validate(s.watchLists()); err != nil {
		return err
	}
	rv, err := revision(c.Options.ResourceVersion)
	if err != nil {
		return err
	}
	var late error
	if c.WatchList() && rv > 0 {
		if _, late = s.waitFor(ctx, rv); late != nil && ctx.Err() != nil {
			return late
		}
	}
	timeout := defaultTimeout
	if t := c.Options.TimeoutSeconds; t != nil && *t != 0 {
		timeout = time.Duration(*t) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	w.Header().Set("Content-Type", c.form.streamType())
	s.storage.mu.Lock()
	t := &watching{call: c, server: s, at: rv, of: s.storage.resources[c.Resource]}
	s.storage.mu.Unlock()
	plain := s.body(ctx, w, c.fault)
	t.send, t.flush = c.form.frames(plain), plain.flush
	if s.opts.Version.compressesWatchLists() && c.endsInitialEvents() && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Add("Vary", "Accept-Encoding")
		gzipped := compress(plain)
		t.send, t.flush = c.form.frames(gzipped), gzipped.flush
	}
	w.WriteHeader(http.StatusOK)
	if err := t.flush(); err != nil {
		return nil // the other side is gone, or is to believe so
	}
	if late != nil {
		_ = t.fail(late) // as a real server does: the answer has begun
		return nil
	}
	_ = t.run(ctx)
	return nil
}

// endsInitialEvents reports whether a bookmark ends the initial events of a
// watch.
func (c *call) endsInitialEvents() bool {
	return c.sendInitialEvents != nil && *c.sendInitialEvents && c.Options.AllowWatchBookmarks
}

// run sends events until the watch ends; the error says why, and is not used.
func (t *watching) run(ctx context.Context) error {
	if t.fault.EndAfter < 0 {
		return t.end()
	}
	if err := t.begin(); err != nil {
		return err
	}
	t.begun = t.at
	var bookmark <-chan time.Time
	if t.Options.AllowWatchBookmarks && t.server.opts.BookmarkInterval > 0 {
		tick := time.NewTicker(t.server.opts.BookmarkInterval)
		defer tick.Stop()
		bookmark = tick.C
	}
	for {
		changed := t.server.storage.changes()
		visible, _, moved := t.server.visible()
		if err := t.catchUp(visible - t.fault.Behind); err != nil {
			return err
		}
		if err := t.flush(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-moved:
		case <-bookmark:
			// As with a real server, nothing at or below the version that the
			// watch began at is sent, and that goes for bookmarks, too; nor is
			// anything before a restored storage has reached the watch's version.
			if t.at <= t.begun || t.at > t.server.storage.Revision() {
				continue
			}
			if err := t.bookmark(false); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin sends what comes before changes.
func (t *watching) begin() error {
	visible, _, _ := t.server.visible()
	initial := t.Options.ResourceVersion == "" || t.Options.ResourceVersion == "0"
	if t.sendInitialEvents != nil {
		initial = *t.sendInitialEvents
		if !initial && t.at == 0 {
			t.at = visible
		}
	}
	if !initial {
		return nil
	}
	if t.Options.ResourceVersion == "" && t.sendInitialEvents != nil {
		visible = t.server.storage.Revision()
	}
	upTo := visible - t.fault.Behind
	t.at = upTo
	if t.WatchList() {
		t.at = t.server.storage.noEarlier(upTo - t.fault.CatchUp)
	}
	// A page of everything: what a list at this revision has.
	all := *t.call
	all.Options.Limit, all.Options.ResourceVersion = 0, ""
	p, err := t.server.listAt(&all, t.at, "")
	if err != nil {
		return t.fail(err)
	}
	for _, obj := range p.items {
		if err := t.event(watch.Added, obj); err != nil {
			return err
		}
	}
	if t.fault.CatchUp > 0 && t.WatchList() {
		if err := t.catchUp(upTo); err != nil {
			return err
		}
	}
	if t.endsInitialEvents() {
		return t.bookmark(true)
	}
	return nil
}

// catchUp sends what happened up to a revision.
func (t *watching) catchUp(to int64) error {
	s := t.server.storage
	s.mu.Lock()
	gone := t.of == nil || s.resources[t.Resource] != t.of
	expired := !gone && t.at < max(s.compacted, t.of.since)
	restored := !gone && t.at > s.revision
	if restored && s.forgetful {
		t.at = s.revision // and what follows is sent
	}
	var changes []Change
	if t.of != nil {
		changes = t.of.history
	}
	s.mu.Unlock()
	switch {
	case expired:
		return t.fail(apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", t.at, s.Revision())))
	case restored:
		return nil // as a real server: silent until the storage has passed it
	}
	if gone {
		to = math.MaxInt64 // there will be no other time
	}
	for i := range changes {
		ch := &changes[i]
		if ch.Revision <= t.at || ch.Revision > to {
			continue
		}
		t.at = ch.Revision
		if typ, obj := t.seen(ch); obj != nil {
			if err := t.event(typ, obj); err != nil {
				return err
			}
		}
	}
	t.at = max(t.at, to)
	if gone {
		_ = t.flush()
		return errGone
	}
	return nil
}

var errGone = fmt.Errorf("the resource is served no more")

// seen is a change as it looks through the selectors: what leaves them is
// deleted, in its last state that was within, at the version of the change.
func (t *watching) seen(ch *Change) (watch.EventType, runtime.Object) {
	was := ch.Old != nil && t.selects(ch.Old)
	is := ch.Type != watch.Deleted && t.selects(ch.Object)
	switch {
	case is && was:
		return watch.Modified, ch.Object
	case is:
		return watch.Added, ch.Object
	case was:
		last := ch.Old.DeepCopyObject()
		if ch.Type == watch.Deleted {
			last = ch.Object
		}
		if m := metaOf(last); m.GetResourceVersion() != strconv.FormatInt(ch.Revision, 10) {
			m.SetResourceVersion(strconv.FormatInt(ch.Revision, 10))
		}
		return watch.Deleted, last
	}
	return "", nil
}

// event sends one event, with what is to go wrong with it.
func (t *watching) event(typ watch.EventType, obj runtime.Object) error {
	times := 1
	if t.fault.Duplicate {
		times = 2
	}
	if t.fault.Replace != nil {
		if r := t.fault.Replace(obj); r != nil {
			obj = r
		}
	}
	if t.fault.Type != "" {
		typ = t.fault.Type
	}
	damaged := t.fault.Damage != nil && t.fault.Damage(keyOf(obj))
	for range times {
		if err := t.send(typ, t.form.shape(obj), damaged); err != nil {
			return err
		}
		if err := t.counted(); err != nil {
			return err
		}
	}
	if t.fault.Stranger != nil {
		if other := t.fault.Stranger(obj); other != nil {
			types := []watch.EventType{watch.Added, watch.Modified, watch.Deleted}
			return t.send(types[t.sent%len(types)], t.form.shape(other), false)
		}
	}
	return nil
}

// bookmark says how far the watch is, and whether that ends the initial
// events.
func (t *watching) bookmark(initial bool) error {
	if t.fault.NoBookmarks {
		return nil
	}
	obj := t.resource.newObject()
	m := metaOf(obj)
	m.SetResourceVersion(strconv.FormatInt(t.at, 10))
	if initial {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	if err := t.send(watch.Bookmark, t.form.shape(obj), false); err != nil {
		return err
	}
	return t.counted()
}

// counted ends the watch when it has had its events.
func (t *watching) counted() error {
	t.sent++
	if t.fault.EndAfter > 0 && t.sent >= t.fault.EndAfter {
		return t.end()
	}
	return nil
}

func (t *watching) end() error {
	if t.fault.End != nil {
		return t.fail(t.fault.End)
	}
	if err := t.flush(); err != nil {
		return err
	}
	return errEnded
}

var errEnded = fmt.Errorf("the watch has had its events")

// fail ends the watch with a Status.
func (t *watching) fail(err error) error {
	if serr := t.send(watch.Error, statusOf(err), false); serr != nil {
		return serr
	}
	if ferr := t.flush(); ferr != nil {
		return ferr
	}
	return err
}
