package kinglet

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ConsistencyCheck says whether an informer compares its store with the server
// from time to time, a page of the collection at a time. The zero value
// compares nothing and costs nothing; Informer.CheckConsistency runs one check
// in any case.
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
// The next check goes on where the last one ended, with the server's own
// continue token, until all has been seen, and begins again. Such a page is of
// the version at which the pages began, or, once the server has forgotten
// that, of its latest. It is compared with a snapshot of the present: whatever
// may have changed between the two versions is left out, and what differs all
// the same is asked for once more, by name, at the snapshot's own version. If
// what is missing in the store may have been deleted since, the page is asked
// for again next time, until it is new enough to tell. (A token is not made
// by hand, to begin anywhere: it is opaque by contract. And random names are
// not asked for, since a server reads the whole collection to find one.)
//
// So there are no false alarms: what cannot be compared is not compared, and
// counted as such. Nothing is checked unless the informer is watching and not
// degraded, while the server has compacted the version away, or where it does
// not honour Exact. Keys in quarantine are left out, as are objects that
// somebody put into the store ahead of the watch; an object that somebody
// deleted from it by hand is a difference.
//
// # What is found
//
// An *InconsistentError goes to Options.OnError, the figures are in Status, and
// everything is listed again at once, which brings the store to what the
// server has and tells handlers of the difference in a legal history. What a
// list did not mend is reported, but not listed for again.
//
// # What it costs
//
// A check is one request for at most Limit objects, as a paged list makes it:
// the server reads them from its storage, or from its cache where that keeps
// states of the past. 500 pods of 6 KiB are 3 MB and some fifty milliseconds of
// CPU here, garbage afterwards (BenchmarkAConsistencyCheck).
// Between checks one continue token is kept. The goroutine is Run's.
type ConsistencyCheck struct {
	// Every is the time between two checks; each waits for between once and
	// one and a half times that, so that those of many clients do not come
	// together. 0 is never. With a page of 500 every ten minutes, 50,000
	// objects have been seen after some 20 hours.
	Every time.Duration
	// Limit is how many objects a check asks for; 500 if 0.
	Limit int64
	// IdentityOnly compares keys, UIDs and resource versions, and no content.
	IdentityOnly bool
	// ReportOnly lists nothing again when something is found.
	ReportOnly bool
}

const (
	// checkLimit is what a page of a list has by default.
	checkLimit = 500
	// checkTimeout bounds each request of a check.
	checkTimeout = time.Minute
	// maxFound is how many differences a report lists.
	maxFound = 16
)

func (c ConsistencyCheck) validate() error {
	var errs []error
	if c.Every < 0 {
		errs = append(errs, fmt.Errorf("ConsistencyCheck.Every is %v, must not be negative", c.Every))
	}
	if c.Limit < 0 {
		errs = append(errs, fmt.Errorf("ConsistencyCheck.Limit is %d, must not be negative", c.Limit))
	}
	return errors.Join(errs...)
}

// ConsistencyReport says what a check compared and found.
type ConsistencyReport struct {
	// ResourceVersion is that of the store's snapshot.
	ResourceVersion string
	// Compared objects of the server's, and Skipped ones: those that changed
	// meanwhile, that are quarantined, that could not be decoded.
	Compared, Skipped int
	// Complete is true if the page was the last of the collection: the next
	// check begins from its start.
	Complete bool
	// Found are the first 16 differences, Differences is how many there are.
	Found       []Inconsistency
	Differences int
	// Relisting is true if everything is listed again because of them.
	Relisting bool
	// Bytes read, 0 where the source cannot know, and the time it took.
	Bytes int64
	Took  time.Duration
}

// ConsistencyStatus counts what consistency checks did.
type ConsistencyStatus struct {
	// Checks were begun, of which NotChecked could compare nothing, and Sweeps
	// came to the end of the collection.
	Checks, NotChecked, Sweeps uint64
	// Compared and Skipped objects; see ConsistencyReport.
	Compared, Skipped uint64
	// Differences found, and Relists because of them.
	Differences, Relists uint64
	// Last is when the last check ended, LastNotChecked why the last one that
	// could compare nothing could not.
	Last           time.Time
	LastNotChecked error
}

// InconsistencyKind says how store and server differ.
type InconsistencyKind uint8

const (
	// Missing: the server has the object, the store does not.
	Missing InconsistencyKind = iota + 1
	// Surplus: the store has the object, the server does not.
	Surplus
	// OtherVersion: both have it, at different resource versions.
	OtherVersion
	// OtherObject: both have one, with different UIDs.
	OtherObject
	// OtherContent: UID and resource version are equal, the content is not.
	OtherContent
)

// String returns "missing", "surplus", "other version" ….
func (k InconsistencyKind) String() string {
	switch k {
	case Missing:
		return "missing"
	case Surplus:
		return "surplus"
	case OtherVersion:
		return "other version"
	case OtherObject:
		return "other object"
	case OtherContent:
		return "other content"
	}
	return "unknown"
}

// Inconsistency is one object in which the store differs from the server, at
// one resource version of the collection.
type Inconsistency struct {
	Key  Key
	Kind InconsistencyKind
	// StoreVersion and ServerVersion are the object's resource versions, empty
	// where there is none.
	StoreVersion, ServerVersion string
}

func (e Inconsistency) String() string {
	return fmt.Sprintf("%s: %s (store %q, server %q)", e.Key, e.Kind, e.StoreVersion, e.ServerVersion)
}

// InconsistentError says that a consistency check found the store to differ
// from the server.
type InconsistentError struct {
	// Name is the informer's.
	Name string
	// ResourceVersion is the one at which they differ.
	ResourceVersion string
	// Found are the first 16 differences, Differences is how many there are.
	Found       []Inconsistency
	Differences int
}

func (e *InconsistentError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "informer of %s: store and server differ at resourceVersion %q in %d objects", e.Name, e.ResourceVersion, e.Differences)
	for _, f := range e.Found {
		b.WriteString("; " + f.String())
	}
	if n := e.Differences - len(e.Found); n > 0 {
		fmt.Fprintf(&b, "; and %d more", n)
	}
	return b.String()
}

// NotCheckedError says why a consistency check could compare nothing. It is no
// sign of a difference.
type NotCheckedError struct {
	// Name is the informer's.
	Name string
	// Err is ErrNotWatching, ErrNotExact, source.ErrNoSample, or what the
	// server answered: 410 where it has compacted the version away.
	Err error
}

func (e *NotCheckedError) Error() string {
	return fmt.Sprintf("informer of %s: consistency was not checked: %v", e.Name, e.Err)
}

// Unwrap returns the reason.
func (e *NotCheckedError) Unwrap() error { return e.Err }

var (
	// ErrNotWatching: the store does not follow the server just now, or is
	// known to differ from it already.
	ErrNotWatching = errors.New("the informer is not watching, or degraded")
	// ErrNotExact: the server answered with another version than it was asked
	// for, or with more objects, or without a version.
	ErrNotExact = errors.New("the server does not answer at exactly one version")
)
