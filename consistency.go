package kinglet

import (
	"context"

	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// ConsistencyCheck makes an informer compare its store with the server from time to
// time, a page of the collection at a time. The zero value compares nothing and costs
// nothing; [Informer.CheckConsistency] runs one check in any case.
//
// Every is the time between two checks, plus at most half of it; 0 is never. Limit is
// how many objects a check requests, 500 if 0. IdentityOnly compares keys, UIDs and
// resource versions, and no content. ReportOnly does not list again when something is
// found.
//
// # What is compared
//
// A check takes a snapshot of the store, which is the store at one resource version,
// and requests a page of the collection at exactly that version
// (resourceVersionMatch=Exact), through the informer's own source: with its selectors,
// its namespace and its dropped fields. Key, UID, resource version and content must be
// equal, and neither side may have an object that the other does not have. Objects are
// decoded afresh, sharing nothing, so that the check covers the decoder as well. After
// a transform (source.Map) content is not compared, because the transform is not called
// twice.
//
// The next check continues where the last one ended, with the server's own continue
// token, until it has seen everything, and then starts over. Such a page is of the
// version at which the pages began, or of the server's latest once it has forgotten
// that. It is compared with a snapshot of the present: an object that may have changed
// between the two versions is left out, and one that differs nevertheless is requested
// once more, by name, at the snapshot's own version. If an object that is missing in
// the store may have been deleted since, the page is requested again next time, until
// it is new enough to tell. (Tokens are not made by hand to begin anywhere, because
// they are opaque by contract, and random names are not requested, because a server
// reads the whole collection to find one.)
//
// So there are no false alarms: an object that cannot be compared is skipped, and
// counted as such. Nothing is checked while the informer is not watching or degraded,
// while the server has compacted the version away, or where it does not honour Exact.
// Keys in quarantine are skipped, as are objects that the program put into the store
// ahead of the watch, in a later version than the watch has reached. What else it changed
// there by hand is a difference: other content of the same version, an object without a
// version, or one that it deleted.
//
// # What is found
//
// OnError is called with an *InconsistentError, the figures are in Status, and
// everything is listed again at once, which makes the store equal to the server and
// delivers the difference to handlers as a legal history. A difference that a list did
// not mend is reported, but does not cause another list.
//
// # What it costs
//
// A check is one request for at most Limit objects, like a page of a list: the server
// reads them from its storage, or from its cache where that keeps states of the past.
// 500 pods of 6 KiB are 3 MB and about fifty milliseconds of CPU here, garbage
// afterwards (BenchmarkAConsistencyCheck). Between checks one continue token is kept.
// The goroutine is Run's.
//
// # Several sources
//
// An informer of several sources checks one after the other, each at its own version, and lists one that differs again. A source that cannot be checked, such
// as one that is refused, is left out until its next turn.
type ConsistencyCheck = consistency.Options

type (
	// ConsistencyReport is what one check compared and found: the Scope of the source,
	// if there are several, its ResourceVersion, how many objects were Compared and
	// Skipped, whether the page was the last (Complete), the first 16 differences
	// (Found) and how many there are (Differences), whether they cause Relisting, the
	// Bytes read and the time it Took.
	ConsistencyReport = consistency.Report
	// Inconsistency is one object in which the store differs from the server, at
	// one resource version of the collection: its Key, the Kind of difference, and
	// the object's StoreVersion and ServerVersion.
	Inconsistency = consistency.Inconsistency
	// InconsistentError reports that a check found the store to differ from the
	// server: the informer's Name, the ResourceVersion, and Found and Differences
	// as in the report.
	InconsistentError = consistency.InconsistentError
	// NotCheckedError reports that a check could compare nothing: the informer's Name,
	// and Err, which is ErrNotWatching, ErrNotExact, source.ErrNoExactLists or what the
	// server answered. It is not a sign of a difference.
	NotCheckedError = consistency.NotCheckedError
)

const (
	// Missing means that the server has the object and the store does not.
	Missing = consistency.Missing
	// Surplus means that the store has the object and the server does not.
	Surplus = consistency.Surplus
	// OtherVersion means that both have the object, at different resource versions.
	OtherVersion = consistency.OtherVersion
	// OtherObject means that both have an object, with different UIDs.
	OtherObject = consistency.OtherObject
	// OtherContent means that UID and resource version are equal, but the content is
	// not.
	OtherContent = consistency.OtherContent
)

var (
	// ErrNotWatching means that the store does not follow the server now, or is already
	// known to differ from it.
	ErrNotWatching = consistency.ErrNotWatching
	// ErrNotExact means that the server answered with another version than requested,
	// with more objects, or without a version.
	ErrNotExact = consistency.ErrNotExact
)

// CheckConsistency compares the next page of the server's collection with the store:
// see ConsistencyCheck, whose Every need not be set. It blocks for as long as the
// requests take, each at most a minute, and waits for a check that is under way. The
// error is a *NotCheckedError if nothing could be compared. The report contains what was
// found, and Options.OnError was called with it. It is safe for concurrent use while Run
// is running; its requests run beside the watch.
func (i *Informer[T]) CheckConsistency(ctx context.Context) (ConsistencyReport, error) {
	return i.checker.Check(ctx)
}

// checked is one source of an informer as consistency checks use it. It can be a key of
// maps, which a program's source need not be.
type checked[T any] struct {
	informer *Informer[T]
	pipeline *pipeline[T]
}

// checked returns the sources that the informer has now.
func (i *Informer[T]) checked() (all []consistency.Informer[T]) {
	for _, one := range i.sources.each() {
		all = append(all, checked[T]{i, one})
	}
	return all
}

func (c checked[T]) Scope() store.Scope { return c.pipeline.Scope }

func (c checked[T]) Status() reflector.Status { return c.pipeline.reflector.Status() }

func (c checked[T]) View() (v consistency.View[T]) {
	c.informer.hub.View(func() {
		v.Snapshot, v.Version = c.informer.store.Snapshot(), c.informer.own.Version(c.Scope().ID)
		v.Quarantined, v.Unlisted = c.pipeline.sink.Quarantine.Keys()
	})
	return v
}

func (c checked[T]) Sample(ctx context.Context, req source.ListRequest[T], yield func(source.Page[T]) error) error {
	if !c.pipeline.Source.Traits().ExactLists {
		return source.ErrNoExactLists
	}
	return c.pipeline.Source.List(ctx, req, yield)
}

func (c checked[T]) Relist(cause error, keys map[store.Key]struct{}) {
	c.pipeline.sink.DecodeAfresh(keys)
	c.pipeline.reflector.Relist(cause)
}

func (c checked[T]) Report(err error) { c.informer.opts.OnError(err) }
