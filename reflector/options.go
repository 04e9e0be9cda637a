package reflector

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Defaults of Options.
const (
	DefaultPageSize              = 500
	DefaultBackoffMin            = 800 * time.Millisecond
	DefaultBackoffMax            = 30 * time.Second
	DefaultBackoffReset          = 2 * time.Minute
	DefaultInitialEventsProgress = 10 * time.Second
	// DefaultListProgress is generous, since a source that decodes a whole
	// response before it yields shows no progress meanwhile: 500,000 objects
	// of JSON take minutes.
	DefaultListProgress    = 10 * time.Minute
	DefaultWatchTimeoutMin = 5 * time.Minute
	DefaultWatchTimeoutMax = 10 * time.Minute
	// DefaultMaxObjects and DefaultMaxListBytes exceed what any API server holds, so
	// they stop only an endless list. The largest supported etcd has 8 GiB. The
	// smallest objects, with name, UID and creation time, take 256 bytes there, which
	// makes 2^25 of them. JSON may take six bytes for one byte of a string (\u0000), so
	// 8 GiB become 48 at most.
	DefaultMaxObjects   = 1 << 25
	DefaultMaxListBytes = 48 << 30
)

// Options of a reflector. The zero value is ready to use.
type Options struct {
	// Scope is the part of the store that the source covers; the zero Scope is
	// everything.
	Scope store.Scope
	// Held is the version of the scope's objects that the sink holds before the first
	// list, for example from an earlier reflector; empty if there are none. The first
	// list is then not older than Held, by the same rule as later lists.
	Held string
	// Latest, if not nil, is called when Run begins. If it returns true, the first list
	// asks for the latest state, and not for any that the server has at hand.
	Latest func() bool
	// Name appears in errors; the source's description if empty.
	Name string

	// PageSize is the maximum number of objects in a page of a list. 0 means
	// DefaultPageSize where a server pages anyway, and no paging for a relist, which
	// servers then answer from their cache. Any other value always pages.
	PageSize int64
	// MaxObjects is the maximum number of objects in the sink. MaxListBytes is the
	// maximum size of a list on the wire, in bytes, over all of its pages and after
	// decompression. 0 means DefaultMaxObjects and DefaultMaxListBytes. A list that
	// exceeds a limit is ended at once with a *LimitError, its memory is released, and
	// it is retried with backoff. So is a watch that would make a Sized sink hold more; if
	// it fails again, a list tells whether it still would.
	// The sink keeps what it holds. The check costs one comparison per page or batch.
	//
	// The defaults do not protect a process's memory. For that, set MaxObjects to what
	// the process has room for: see docs/security.md.
	MaxObjects   int64
	MaxListBytes int64
	// DisableWatchList lists page by page from the start, as for a source whose
	// Traits have NoWatchList.
	DisableWatchList bool

	// BackoffMin and BackoffMax bound the lower end d of a wait; each failure in a row
	// doubles d. The wait is drawn from [d, 2d). A longer Retry-After, of which 5 minutes
	// count at most, takes the place of the lower end; what is added to it stays below d.
	// After status 429 with a Retry-After, d is a quarter of that, within the two bounds, and
	// only each eleventh such wait doubles the next. Lists in a row are as far apart as waits.
	BackoffMin, BackoffMax time.Duration
	// Delay, if set, returns the length of each wait after a failure. Only a server's
	// Retry-After still bounds it. The wait between relists that heal still depends on
	// BackoffMin. Called from Run's goroutine.
	Delay func() time.Duration
	// BackoffReset is how long after the last list the distance between lists starts again from
	// BackoffMin. Other waits do so as soon as a watch has held for twice BackoffMin, or watches
	// have followed each other for BackoffReset.
	BackoffReset time.Duration

	// InitialEventsProgress is how long streamed initial events may make no progress.
	InitialEventsProgress time.Duration
	// ListProgress is how long a list may yield no page. It doubles, up to 16-fold,
	// each time that this was not enough.
	ListProgress time.Duration

	// RefusalPatience is how long a watch that the server answers with a 5xx of its own
	// is retried at one version before a relist; 0 means twice in a row.
	RefusalPatience time.Duration

	// WatchTimeoutMin and WatchTimeoutMax bound the timeout requested for a watch; each
	// one is drawn from between them.
	WatchTimeoutMin, WatchTimeoutMax time.Duration

	// OnError is called with every *Error: whatever makes the reflector wait, whatever
	// it lost, versions that go back, and versions that have expired. It is called from
	// Run's goroutine, under no lock, and the reflector waits until it returns. It may
	// be nil: Status has the last error too.
	OnError func(error)
	// OnStatus is called after each change of phase, of the last error, of Synced,
	// Epoch or Degraded, and after a silent watch was given up (Status.SilentWatches).
	// Other counts change far more often and are not reported. It is called like
	// OnError. May be nil.
	OnStatus func(Status)
	// OnReadPath is called when the source starts to read another way: see
	// Status.ReadPath. It is called like OnError. May be nil.
	OnReadPath func(before, now source.ReadPath)

	// Rand draws from [0, 1); math/rand's if nil. Called from Run's goroutine.
	Rand func() float64
}

// Validate returns everything that is wrong with o.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults returns o with zero fields filled in, and an error that joins every
// problem.
func (o Options) withDefaults() (Options, error) {
	var problems []error
	// If only one bound is given, the default of the other adapts to it.
	pair := func(lowName, highName string, low, high *time.Duration, defLow, defHigh time.Duration) {
		if *low == 0 && *high > 0 {
			defLow = min(defLow, *high)
		}
		if *high == 0 && *low > 0 {
			defHigh = max(defHigh, *low)
		}
		fill(&problems, lowName, low, defLow)
		fill(&problems, highName, high, defHigh)
		if *low > *high {
			problems = append(problems, fmt.Errorf("%s (%v) is more than %s (%v)", lowName, *low, highName, *high))
		}
	}
	fill(&problems, "PageSize", &o.PageSize, 0)
	fill(&problems, "MaxObjects", &o.MaxObjects, DefaultMaxObjects)
	fill(&problems, "MaxListBytes", &o.MaxListBytes, DefaultMaxListBytes)
	pair("BackoffMin", "BackoffMax", &o.BackoffMin, &o.BackoffMax, DefaultBackoffMin, DefaultBackoffMax)
	pair("WatchTimeoutMin", "WatchTimeoutMax", &o.WatchTimeoutMin, &o.WatchTimeoutMax,
		DefaultWatchTimeoutMin, DefaultWatchTimeoutMax)
	fill(&problems, "BackoffReset", &o.BackoffReset, DefaultBackoffReset)
	fill(&problems, "RefusalPatience", &o.RefusalPatience, 0)
	fill(&problems, "InitialEventsProgress", &o.InitialEventsProgress, DefaultInitialEventsProgress)
	fill(&problems, "ListProgress", &o.ListProgress, DefaultListProgress)
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, errors.Join(problems...)
}

// fill gives an option its default if it is 0. It is a problem if it is negative.
func fill[N ~int64](problems *[]error, name string, n *N, def N) {
	switch {
	case *n == 0:
		*n = def
	case *n < 0:
		*problems = append(*problems, fmt.Errorf("%s is negative: %v", name, *n))
	}
}

// longest bounds every duration, so that sums do not overflow.
const longest = 10 * 365 * 24 * time.Hour

// config returns the machine's configuration.
func (o *Options) config() machine.Config {
	nanos := func(d time.Duration) machine.Nanos { return machine.Nanos(min(d, longest)) }
	return machine.Config{
		Held:                  o.Held,
		WatchList:             !o.DisableWatchList,
		PageSize:              cmp.Or(o.PageSize, DefaultPageSize),
		AlwaysPage:            o.PageSize != 0,
		BackoffMin:            nanos(o.BackoffMin),
		BackoffMax:            nanos(o.BackoffMax),
		HealthAfter:           nanos(o.BackoffReset),
		InitialEventsProgress: nanos(o.InitialEventsProgress),
		ListProgress:          nanos(o.ListProgress),
		RefusalPatience:       nanos(o.RefusalPatience),
		WatchTimeoutMin:       nanos(o.WatchTimeoutMin),
		WatchTimeoutMax:       nanos(o.WatchTimeoutMax),
	}
}
