package reflector

import (
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
	// DefaultMaxObjects and DefaultMaxListBytes are beyond what any API server
	// has, so that they stop only a list without end. The largest etcd that is
	// supported has 8 GiB. The smallest objects, with name, UID and creation
	// time, take 256 bytes there: 2^25 of them. In JSON, of which each byte of
	// a string may take six (\u0000), 8 GiB are 48 at most.
	DefaultMaxObjects   = 1 << 25
	DefaultMaxListBytes = 48 << 30
)

// Options of a reflector. The zero value is ready to use.
type Options struct {
	// Scope is what the source speaks for; the zero Scope is everything.
	Scope store.Scope
	// Held is the version of which the sink holds objects of the scope before the first
	// list, as those that another reflector has left; empty if there are none. The list
	// is not older then, by the rule of every later one.
	Held string
	// Name is for errors; the source's description if empty.
	Name string

	// PageSize is how many objects a page of a list may have. 0 means
	// DefaultPageSize where a server pages anyway, and no pages for a relist,
	// which servers then answer from their cache. Another value pages always.
	PageSize int64
	// MaxObjects is the most objects that the sink is to hold, and MaxListBytes
	// the most bytes that a list may take on the wire, all of its pages
	// together and after decompression; 0 is DefaultMaxObjects and
	// DefaultMaxListBytes. A list that goes beyond is left at once, with a
	// *LimitError, its memory given back, and asked for again with backoff; so
	// is a watch that would have a Sized sink hold more. What the sink holds
	// stays. Checking costs a comparison a page or batch.
	//
	// The defaults are no protection of a process's memory. To have one, set
	// MaxObjects to what the process has room for: see docs/security.md.
	MaxObjects   int64
	MaxListBytes int64
	// DisableWatchList lists page by page from the start, as for a source whose
	// Traits have NoWatchList.
	DisableWatchList bool

	// BackoffMin is the least lower end of a wait, BackoffMax the greatest;
	// each failure in a row doubles it. What is waited for is drawn from
	// [d, 2d). A Retry-After of up to 5 minutes raises d.
	BackoffMin, BackoffMax time.Duration
	// Delay, if set, is asked for the length of each wait after a failure, which
	// then follows no other bounds than a server's Retry-After. The distance of
	// relists that heal still goes by BackoffMin. Called from Run's goroutine.
	Delay func() time.Duration
	// BackoffReset is for how long a watch must have held for the row to
	// begin anew.
	BackoffReset time.Duration

	// InitialEventsProgress is for how long streamed initial events may make
	// no progress.
	InitialEventsProgress time.Duration
	// ListProgress is for how long a list may yield no page; it doubles, up
	// to 16 times, each time that this was not enough.
	ListProgress time.Duration

	// RefusalPatience is for how long a watch that the server answers with a
	// 5xx of its own is asked for again at one version before everything is
	// listed anew; 0 leaves it at three times in a row.
	RefusalPatience time.Duration

	// WatchTimeoutMin and WatchTimeoutMax bound for how long a watch is asked
	// for; each is drawn from between.
	WatchTimeoutMin, WatchTimeoutMax time.Duration

	// OnError is called with every *Error: whatever makes the reflector wait, whatever
	// it lost, versions that go back, and versions that have expired. It is called from
	// Run's goroutine, under no lock, and the reflector waits until it returns. It may
	// be nil: Status has the last error too.
	OnError func(error)
	// OnStatus is called after each change of phase, of the last error, of
	// Synced, Epoch or Degraded, and after a silent watch was given up
	// (Status.SilentWatches). Other counts change far more often and are not
	// told. Called as OnError is. May be nil.
	OnStatus func(Status)
	// OnReadPath is called when the source reads another way than before: see
	// Status.ReadPath. Called as OnError is. May be nil.
	OnReadPath func(before, now source.ReadPath)

	// Tracer, if not nil, observes lists, watches and changes of phase.
	Tracer Tracer

	// Rand draws from [0, 1); math/rand's if nil. Called from Run's goroutine.
	Rand func() float64
}

// Validate returns everything that is wrong with o.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults returns o with what is zero filled in, and every problem.
func (o Options) withDefaults() (Options, error) {
	var problems []error
	positive := func(name string, d *time.Duration, def time.Duration) {
		switch {
		case *d == 0:
			*d = def
		case *d < 0:
			problems = append(problems, fmt.Errorf("%s is negative: %v", name, *d))
		}
	}
	// A bound that is given alone takes the other one with it.
	pair := func(lowName, highName string, low, high *time.Duration, defLow, defHigh time.Duration) {
		if *low == 0 && *high > 0 {
			defLow = min(defLow, *high)
		}
		if *high == 0 && *low > 0 {
			defHigh = max(defHigh, *low)
		}
		positive(lowName, low, defLow)
		positive(highName, high, defHigh)
		if *low > *high {
			problems = append(problems, fmt.Errorf("%s (%v) is more than %s (%v)", lowName, *low, highName, *high))
		}
	}
	if o.PageSize < 0 {
		problems = append(problems, fmt.Errorf("PageSize is negative: %d", o.PageSize))
	}
	limit := func(name string, n *int64, def int64) {
		switch {
		case *n == 0:
			*n = def
		case *n < 0:
			problems = append(problems, fmt.Errorf("%s is negative: %d", name, *n))
		}
	}
	limit("MaxObjects", &o.MaxObjects, DefaultMaxObjects)
	limit("MaxListBytes", &o.MaxListBytes, DefaultMaxListBytes)
	pair("BackoffMin", "BackoffMax", &o.BackoffMin, &o.BackoffMax, DefaultBackoffMin, DefaultBackoffMax)
	pair("WatchTimeoutMin", "WatchTimeoutMax", &o.WatchTimeoutMin, &o.WatchTimeoutMax,
		DefaultWatchTimeoutMin, DefaultWatchTimeoutMax)
	positive("BackoffReset", &o.BackoffReset, DefaultBackoffReset)
	positive("RefusalPatience", &o.RefusalPatience, 0)
	positive("InitialEventsProgress", &o.InitialEventsProgress, DefaultInitialEventsProgress)
	positive("ListProgress", &o.ListProgress, DefaultListProgress)
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, errors.Join(problems...)
}

// config is what the machine needs of o.
func (o *Options) config() machine.Config {
	pageSize := o.PageSize
	if pageSize == 0 {
		pageSize = DefaultPageSize
	}
	return machine.Config{
		Held:                  o.Held,
		WatchList:             !o.DisableWatchList,
		PageSize:              pageSize,
		AlwaysPage:            o.PageSize != 0,
		BackoffMin:            machine.Nanos(o.BackoffMin),
		BackoffMax:            machine.Nanos(o.BackoffMax),
		HealthAfter:           machine.Nanos(o.BackoffReset),
		InitialEventsProgress: machine.Nanos(o.InitialEventsProgress),
		ListProgress:          machine.Nanos(o.ListProgress),
		RefusalPatience:       machine.Nanos(o.RefusalPatience),
		WatchTimeoutMin:       machine.Nanos(o.WatchTimeoutMin),
		WatchTimeoutMax:       machine.Nanos(o.WatchTimeoutMax),
	}
}
