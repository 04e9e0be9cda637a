package kinglet

import (
	"context"

	"github.com/kinglet-go/kinglet/internal/consistency"
	"github.com/kinglet-go/kinglet/internal/sink"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// ConsistencyCheck has an informer compare its store with the server from time to
// time, a page of the collection at a time. The zero value compares nothing and
// costs nothing; [Informer.CheckConsistency] runs one check in any case.
//
// Every is the time between two checks, at most half of it more; 0 is never. Limit is
// how many objects a check asks for, 500 if 0. IdentityOnly compares keys, UIDs and
// resource versions, and no content. ReportOnly lists nothing again when something is
// found.
//
// # What is compared
//
// A check takes a snapshot of the store, which is the store at one resource
// version, and asks the server for a page of the collection exactly at that
// version (resourceVersionMatch=Exact), through the informer's own source: with
// its selectors, its namespace and its dropped fields. Key, UID, resource
// version and content must be equal, nothing may be missing and nothing held
// that is gone. Objects are decoded afresh, sharing nothing, so that the check
// is one of the decoder as well. After a transform (source.Map) content is not
// compared, since the transform is not called twice.
//
// The next check continues where the last one ended, with the server's own
// continue token, until all has been seen, and then from the start. Such a page is
// of the version at which the pages began, or of the server's latest once it has
// forgotten that. It is compared with a snapshot of the present: an object that may
// have changed between the two versions is left out, and one that differs in spite
// of that is asked for once more, by name, at the snapshot's own version. If an
// object that is missing in the store may have been deleted since, the page is
// asked for again next time, until it is new enough to tell. (Tokens are not made
// by hand to begin anywhere, since they are opaque by contract, and random names are
// not asked for, since a server reads the whole collection to find one.)
//
// So there are no false alarms: an object that cannot be compared is skipped, and
// counted as such. Nothing is checked if the informer is not watching or degraded,
// while the server has compacted the version away, or where it does not honour
// Exact. Keys in quarantine are skipped, as are objects that somebody put into the
// store ahead of the watch; an object that somebody deleted from it by hand is a
// difference.
//
// # What is found
//
// An *InconsistentError goes to Options.OnError, the figures are in Status, and
// everything is listed again at once, which makes the store equal to the server and
// delivers the difference to handlers as a legal history. A difference that a list
// did not mend is reported, but not listed for again.
//
// # What it costs
//
// A check is one request for at most Limit objects, as a paged list makes it:
// the server reads them from its storage, or from its cache where that keeps
// states of the past. 500 pods of 6 KiB are 3 MB and some fifty milliseconds of
// CPU here, garbage afterwards (BenchmarkAConsistencyCheck).
// Between checks one continue token is kept. The goroutine is Run's.
//
// # Several sources
//
// An informer that NewScoped returned checks one source after the other, each at its own
// version, and has the one listed again that differs. A source that cannot be checked, as
// while it is refused, is left out until its next turn.
type ConsistencyCheck = consistency.Options

type (
	// ConsistencyReport is what one check compared and found: the Scope of the source,
	// if there are several, its ResourceVersion, how many objects were Compared and Skipped, whether the page was the last
	// (Complete), the first 16 differences (Found) and how many there are
	// (Differences), whether they are a reason for Relisting, the Bytes read and
	// the time it Took.
	ConsistencyReport = consistency.Report
	// ConsistencyStatus counts what checks did: Checks begun, those NotChecked,
	// Sweeps of the whole collection, objects Compared and Skipped, Differences,
	// Relists; when the Last check ended, and why the last one that could compare
	// nothing could not (LastNotChecked).
	ConsistencyStatus = consistency.Status
	// Inconsistency is one object in which the store differs from the server, at
	// one resource version of the collection: its Key, the Kind of difference, and
	// the object's StoreVersion and ServerVersion.
	Inconsistency = consistency.Inconsistency
	// InconsistencyKind is how store and server differ in one object.
	InconsistencyKind = consistency.Kind
	// InconsistentError reports that a check found the store to differ from the
	// server: the informer's Name, the ResourceVersion, and Found and Differences
	// as in the report.
	InconsistentError = consistency.InconsistentError
	// NotCheckedError is why a check could compare nothing: the informer's Name,
	// and Err, which is ErrNotWatching, ErrNotExact, source.ErrNoSample or what
	// the server answered. It is no sign of a difference.
	NotCheckedError = consistency.NotCheckedError
)

const (
	// Missing: the server has the object, the store does not.
	Missing = consistency.Missing
	// Surplus: the store has the object, the server does not.
	Surplus = consistency.Surplus
	// OtherVersion: both have it, at different resource versions.
	OtherVersion = consistency.OtherVersion
	// OtherObject: both have one, with different UIDs.
	OtherObject = consistency.OtherObject
	// OtherContent: UID and resource version are equal, the content is not.
	OtherContent = consistency.OtherContent
)

var (
	// ErrNotWatching: the store does not follow the server now, or is known to
	// differ from it already.
	ErrNotWatching = consistency.ErrNotWatching
	// ErrNotExact: the server answered with another version than it was asked
	// for, or with more objects, or without a version.
	ErrNotExact = consistency.ErrNotExact
)

// CheckConsistency compares the next page of the server's collection with the
// store: see ConsistencyCheck, whose Every need not be set for it. It blocks
// for as long as the requests take, each at most a minute, and waits for a
// check that is under way. The error is a *NotCheckedError if nothing could be
// compared. The report has what was found, and Options.OnError was called with it.
// Safe for concurrent use while Run is running; objects are asked for beside its
// watch.
func (i *Informer[T]) CheckConsistency(ctx context.Context) (ConsistencyReport, error) {
	return i.checker.Check(ctx)
}

// checked is one source of an informer as consistency checks use it.
type checked[T any] struct {
	informer  *Informer[T]
	scope     *Scope
	source    source.Source[T]
	sink      *sink.Sink[T]
	reflector *reflector.Reflector[T]
}

// checked returns the sources that the informer has now.
func (i *Informer[T]) checked() (all []consistency.Informer[T]) {
	if i.parts == nil {
		return []consistency.Informer[T]{checked[T]{i, &everything, i.source, i.sink, i.reflector}}
	}
	for _, one := range i.parts.each() {
		all = append(all, checked[T]{i, &one.Scope, one.Source, one.sink, one.reflector})
	}
	return all
}

// everything is the scope of an informer of one source.
var everything Scope

func (c checked[T]) Scope() store.Scope { return *c.scope }

func (c checked[T]) Status() reflector.Status { return c.reflector.Status() }

func (c checked[T]) View() (v consistency.View[T]) {
	c.informer.hub.View(func() {
		v.Snapshot, v.Version = c.informer.store.Snapshot(), c.informer.own.Version(c.scope.ID)
		v.Quarantined, v.Unlisted = c.sink.Quarantine.Keys()
	})
	return v
}

func (c checked[T]) Sample(ctx context.Context, req source.SampleRequest, yield func(source.Page[T]) error) error {
	return source.Sample(ctx, c.source, req, yield)
}

func (c checked[T]) Relist(cause error, keys map[store.Key]struct{}) {
	c.sink.DecodeAfresh(keys)
	c.reflector.Relist(cause)
}

func (c checked[T]) Report(err error) { c.informer.opts.OnError(err) }
