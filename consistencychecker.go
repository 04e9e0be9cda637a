package kinglet

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// checker runs an informer's consistency checks, one at a time.
type checker[T any] struct {
	informer *Informer[T]
	opts     ConsistencyCheck
	// turn has room for whoever checks. What follows belongs to them.
	turn   chan struct{}
	cursor cursor
	// relisted is what everything was listed again for last time.
	relisted map[Inconsistency]struct{}

	mu     sync.Mutex
	run    context.Context   // guarded by mu; Run's, nil before
	status ConsistencyStatus // guarded by mu
}

// cursor is where the next check goes on; zero for the start.
type cursor struct {
	token string
	after place
	epoch uint64
	// again counts how often the page was asked for because it was too old to
	// tell what is missing.
	again int
}

// maxAgain is how often a page is asked for again. By the time that it has been
// often, servers have long forgotten old versions.
const maxAgain = 20

// maxAsked is how many objects a check asks for by name.
const maxAsked = 4

func newChecker[T any](i *Informer[T]) *checker[T] {
	opts := i.opts.ConsistencyCheck
	if opts.Limit == 0 {
		opts.Limit = checkLimit
	}
	return &checker[T]{informer: i, opts: opts, turn: make(chan struct{}, 1)}
}

// start begins to check from time to time, if that is wanted, until ctx ends.
func (c *checker[T]) start(ctx context.Context, in *sync.WaitGroup) {
	c.mu.Lock()
	c.run = ctx
	c.mu.Unlock()
	if c.opts.Every > 0 {
		in.Go(func() { c.loop(ctx) })
	}
}

func (c *checker[T]) loop(ctx context.Context) {
	select {
	case <-c.informer.synced:
	case <-ctx.Done():
		return
	}
	pause := func() time.Duration { return c.opts.Every + rand.N(c.opts.Every/2+1) }
	timer := time.NewTimer(pause())
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		// What could not be checked is counted, and is no error of anybody's.
		_, _ = c.check(ctx)
		timer.Reset(pause())
	}
}

// state is what checks have done so far.
func (c *checker[T]) state() ConsistencyStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// check runs one check, counts it, and tells of what it found.
func (c *checker[T]) check(ctx context.Context) (ConsistencyReport, error) {
	report, err := c.inTurn(ctx)
	if err == nil && report.Differences > 0 {
		c.tell(&report)
	}
	return report, err
}

// inTurn runs one check when no other is under way.
func (c *checker[T]) inTurn(ctx context.Context) (ConsistencyReport, error) {
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	if run == nil {
		return ConsistencyReport{}, c.notChecked(ErrNotWatching)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ConsistencyReport{}, c.notChecked(ctx.Err())
	}
	began := time.Now()
	report, err := c.compare(ctx)
	report.Took = time.Since(began)

	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.status
	s.Checks++
	s.Last = time.Now()
	s.Compared += uint64(report.Compared)
	s.Skipped += uint64(report.Skipped)
	s.Differences += uint64(report.Differences)
	if report.Complete {
		s.Sweeps++
	}
	if report.Relisting {
		s.Relists++
	}
	if err != nil {
		err = c.notChecked(err)
		s.NotChecked++
		s.LastNotChecked = err
	}
	return report, err
}

func (c *checker[T]) notChecked(err error) error {
	return &NotCheckedError{Name: c.informer.opts.Name, Err: err}
}

// compare compares the next page with the store, asks again for what is not
// certain, and says what to do about the rest.
func (c *checker[T]) compare(ctx context.Context) (report ConsistencyReport, err error) {
	b, err := c.basis()
	if err != nil {
		return report, err
	}
	report.ResourceVersion = b.version
	at := c.cursor
	if at.epoch != b.epoch {
		at = cursor{epoch: b.epoch}
	}
	cmp, next, err := c.page(ctx, b, at, &report)
	if at.token != "" && apierrors.IsResourceExpired(err) {
		// The server no longer has the version of the pages before, and says
		// with what to go on at its latest.
		later := continuation(err)
		c.cursor = cursor{}
		if later == "" {
			return report, err
		}
		at.token = later
		cmp, next, err = c.page(ctx, b, at, &report)
	}
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsBadRequest(err) || errors.Is(err, ErrNotExact) {
			c.cursor = cursor{}
		}
		return report, err
	}
	c.advance(at, cmp, next)
	c.settle(ctx, b, cmp, &report)
	report.Complete = next == ""
	report.Compared, report.Skipped = cmp.compared, report.Skipped+cmp.skipped
	report.Relisting = report.Differences > 0 && !c.opts.ReportOnly && c.news(report.Found)
	return report, nil
}

// advance moves the cursor behind a page, unless the page has to be asked for
// again.
func (c *checker[T]) advance(at cursor, cmp *comparison[T], next string) {
	switch {
	case cmp.pending > 0 && at.again < maxAgain:
		at.again++
		c.cursor = at
	case next == "":
		c.cursor = cursor{}
	default:
		c.cursor = cursor{token: next, after: cmp.last, epoch: at.epoch}
	}
}

// basis takes a snapshot of the store at a version which it is exactly at.
func (c *checker[T]) basis() (*basis[T], error) {
	i := c.informer
	status := i.reflector.Status()
	if status.Phase != reflector.Watching || status.Degraded {
		return nil, ErrNotWatching
	}
	b := &basis[T]{epoch: status.Epoch}
	more := 0
	i.hub.View(func() {
		b.quarantined, more = i.quarantine.keys()
		b.snapshot = i.store.Snapshot()
		b.version = i.mirror.version()
	})
	if b.version == "" || b.version == "0" || more > 0 {
		return nil, ErrNotExact
	}
	return b, nil
}

// page asks for a page and compares it.
func (c *checker[T]) page(ctx context.Context, b *basis[T], at cursor, report *ConsistencyReport) (cmp *comparison[T], next string, err error) {
	req := source.SampleRequest{Continue: at.token, Limit: c.opts.Limit}
	if at.token == "" {
		req.ResourceVersion = b.version
	}
	cmp, next, err = c.ask(ctx, b, at.after, req, report, nil)
	if err != nil {
		return nil, "", err
	}
	switch whole := at.token == "" && next == ""; {
	case cmp.blind:
	case whole:
		cmp.surplus(b.snapshot.Keys(), true)
	case cmp.ordered:
		cmp.surplus(heldIn(b.snapshot, stretch{after: at.after, last: cmp.last, open: next == ""}), false)
	}
	return cmp, next, nil
}

// ask sends one request and compares what comes, or if only is not nil, that
// key alone.
func (c *checker[T]) ask(ctx context.Context, b *basis[T], after place, req source.SampleRequest, report *ConsistencyReport, only *store.Key) (*comparison[T], string, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cmp := newComparison(b, &c.informer.opts, after)
	// Items that came before their version wait for it.
	var waiting []source.Item[T]
	next, items := "", int64(0)
	err := source.Sample(ctx, c.informer.source, req, func(page source.Page[T]) error {
		report.Bytes += page.Bytes
		items += int64(len(page.Items))
		if req.Limit > 0 && items > req.Limit {
			return ErrNotExact
		}
		waiting = append(waiting, page.Items...)
		if !page.More {
			next = page.Continue
		}
		if cmp.version == "" {
			if page.ResourceVersion == "" && page.More {
				return nil
			}
			exact := page.ResourceVersion == b.version || req.Continue != ""
			if page.ResourceVersion == "" || !exact || !cmp.at(page.ResourceVersion) {
				return ErrNotExact
			}
		}
		for i := range waiting {
			if it := &waiting[i]; only == nil || it.Key == *only {
				cmp.item(it)
			}
		}
		waiting = nil
		return nil
	})
	if err == nil && cmp.version == "" {
		err = ErrNotExact
	}
	return cmp, next, err
}

// settle asks for what is not certain once more, by name, at the version of
// the basis itself, and reports what remains.
func (c *checker[T]) settle(ctx context.Context, b *basis[T], cmp *comparison[T], report *ConsistencyReport) {
	asked := 0
	for _, s := range cmp.suspicions {
		upheld := s.certain
		if !upheld && asked < maxAsked {
			asked++
			s.Inconsistency, upheld = c.askAgain(ctx, b, s, report)
		}
		switch {
		case !upheld:
			report.Skipped++
		case len(report.Found) < maxFound:
			report.Found = append(report.Found, s.Inconsistency)
			fallthrough
		default:
			report.Differences++
		}
	}
}

// askAgain returns what the server says about one key at the version of the
// basis, if that is a difference.
func (c *checker[T]) askAgain(ctx context.Context, b *basis[T], s suspicion, report *ConsistencyReport) (Inconsistency, bool) {
	selector := "metadata.name=" + s.name.name
	if s.name.namespace != "" {
		selector += ",metadata.namespace=" + s.name.namespace
	}
	req := source.SampleRequest{ResourceVersion: b.version, Limit: c.opts.Limit, FieldSelector: selector}
	cmp, next, err := c.ask(ctx, b, place{}, req, report, &s.Key)
	if err != nil || cmp.blind {
		return s.Inconsistency, false
	}
	if _, has := cmp.seen[s.Key]; !has {
		if next != "" {
			return s.Inconsistency, false // it may be on a later page
		}
		cmp.judge(s.Key, nil)
	}
	if len(cmp.suspicions) == 0 {
		return s.Inconsistency, false
	}
	return cmp.suspicions[0].Inconsistency, true
}

// news reports whether something is found that the last relist was not for.
func (c *checker[T]) news(found []Inconsistency) bool {
	fresh := false
	for _, f := range found {
		_, known := c.relisted[f]
		fresh = fresh || !known
	}
	if fresh {
		c.relisted = make(map[Inconsistency]struct{}, len(found))
		for _, f := range found {
			c.relisted[f] = struct{}{}
		}
	}
	return fresh
}

// tell reports what was found, and has everything listed again.
func (c *checker[T]) tell(report *ConsistencyReport) {
	i := c.informer
	err := &InconsistentError{
		Name: i.opts.Name, ResourceVersion: report.ResourceVersion,
		Found: report.Found, Differences: report.Differences,
	}
	i.opts.OnError(err)
	if !report.Relisting {
		return
	}
	keys := make(map[store.Key]struct{}, len(report.Found))
	for _, f := range report.Found {
		keys[f.Key] = struct{}{}
	}
	i.mirror.doubted.Store(&keys)
	i.reflector.Relist(err)
}

// continuation is the token that a server gives with a 410 to go on with at its
// latest version; empty if it gave none.
func continuation(err error) string {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return ""
	}
	status := api.Status()
	return status.Continue
}

// CheckConsistency compares the next page of the server's collection with the
// store: see ConsistencyCheck, whose Every need not be set for it. It blocks
// for as long as the requests take, each at most a minute, and waits for a
// check that is under way. The error is a *NotCheckedError if nothing could be
// compared; what was found is in the report, and has been reported to
// Options.OnError. Safe for concurrent use while Run is running; objects are
// asked for beside its watch.
func (i *Informer[T]) CheckConsistency(ctx context.Context) (ConsistencyReport, error) {
	return i.checker.check(ctx)
}
