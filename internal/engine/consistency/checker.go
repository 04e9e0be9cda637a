package consistency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/proflabel"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Informer is what a Checker needs of an informer, or of one source of an informer that
// has several. All methods are safe for concurrent use, and values can be compared.
type Informer[T any] interface {
	// Scope returns the scope of the source.
	Scope() store.Scope
	// Status returns the status of the informer's reflector.
	Status() reflector.Status
	// View returns the store at one moment.
	View() View[T]
	// Sample requests one page from the source; see source.ListRequest.Exact.
	Sample(ctx context.Context, req source.ListRequest[T], yield func(source.Page[T]) error) error
	// Relist triggers a relist in which the objects under keys are decoded from
	// scratch. It does not block.
	Relist(cause error, keys map[store.Key]struct{})
	// Report is called with each *InconsistentError.
	Report(err error)
}

// View is an informer's store at one moment; it may hold objects of other scopes.
type View[T any] struct {
	Snapshot *store.Snapshot[T]
	// Version is the version of the source that the store has reached.
	Version string
	// Quarantined are keys whose state at Version the snapshot does not have;
	// Unlisted is how many more there are.
	Quarantined map[store.Key]struct{}
	Unlisted    int
}

// Config configures a Checker.
type Config[T any] struct {
	// Name is the informer's.
	Name    string
	Options Options
	// UID and Version read metadata.uid and metadata.resourceVersion.
	UID     func(T) types.UID
	Version func(T) string
	// Equal compares content. If nil, it is semantic equality of the API: empty equals
	// absent, and quantities are equal by value.
	Equal func(a, b T) bool
	// Synced is closed when the store holds the first list.
	Synced <-chan struct{}
}

// Checker runs an informer's consistency checks, one at a time. All methods are safe
// for concurrent use.
type Checker[T any] struct {
	sources func() []Informer[T]
	config  Config[T]
	// running holds a token while a check runs. The fields up to the next blank line
	// belong to that check.
	running chan struct{}
	// turn is the source of the next check, and skipped whether a source before it
	// could not be checked. sweeps has where the next check of each source continues.
	turn    Informer[T]
	skipped bool
	sweeps  map[Informer[T]]sweep
	// relisted are the differences that caused the last relist.
	relisted map[Inconsistency]struct{}

	mu     sync.Mutex
	run    context.Context // guarded by mu; that of Start, nil before
	status Status          // guarded by mu
}

// New returns a Checker. It starts nothing. Each check calls sources for the informer's
// present sources.
func New[T any](sources func() []Informer[T], config Config[T]) *Checker[T] {
	if config.Options.Limit == 0 {
		config.Options.Limit = defaultLimit
	}
	if config.Equal == nil {
		config.Equal = func(a, b T) bool { return gotype.SameContent(a, b, config.Version(a) != "") }
	}
	return &Checker[T]{sources: sources, config: config, running: make(chan struct{}, 1), sweeps: make(map[Informer[T]]sweep)}
}

// Start allows checks until ctx ends. If Options.Every is set, it starts a goroutine
// in group that runs checks periodically.
func (c *Checker[T]) Start(ctx context.Context, group *sync.WaitGroup) {
	c.mu.Lock()
	c.run = ctx
	c.mu.Unlock()
	if c.config.Options.Every > 0 {
		group.Go(func() { c.loop(proflabel.Stage(ctx, proflabel.Consistency)) })
	}
}

func (c *Checker[T]) loop(ctx context.Context) {
	select {
	case <-c.config.Synced:
	case <-ctx.Done():
		return
	}
	every := min(c.config.Options.Every, math.MaxInt64/2)
	for {
		select {
		case <-time.After(every + rand.N(every/2+1)):
		case <-ctx.Done():
			return
		}
		// The status has the error; no caller waits for it.
		_, _ = c.Check(ctx)
	}
}

// Status returns the counts of the checks so far.
func (c *Checker[T]) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Check runs one check, counts it, and reports its findings. It waits for a check
// under way, and blocks for as long as its requests take, each at most a minute. The
// error is a *NotCheckedError.
func (c *Checker[T]) Check(ctx context.Context) (Report, error) {
	report, of, err := c.checkAlone(ctx)
	if err == nil && report.Differences > 0 {
		c.report(of, &report)
	}
	return report, err
}

// checkAlone runs one check while no other is under way, and returns the source that
// it checked.
func (c *Checker[T]) checkAlone(ctx context.Context) (report Report, of Informer[T], err error) {
	c.mu.Lock()
	run := c.run
	c.mu.Unlock()
	if run == nil {
		return report, nil, c.notChecked(ErrNotWatching)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		err = ctx.Err()
		if run.Err() != nil {
			err = ErrNotWatching
		}
		return report, nil, c.notChecked(err)
	}
	began := time.Now()
	report, of, err = c.checkNext(ctx)
	report.Took = time.Since(began)
	if err != nil && run.Err() != nil {
		err = ErrNotWatching // whatever its request ended with
	}
	if err != nil {
		err = c.notChecked(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.count(&report, err)
	return report, of, err
}

// checkNext checks the next page of the source whose turn it is. The next source has
// its turn after the last page, or if this one cannot be checked.
func (c *Checker[T]) checkNext(ctx context.Context) (report Report, of Informer[T], err error) {
	sources := c.sources()
	maps.DeleteFunc(c.sweeps, func(one Informer[T], _ sweep) bool { return !slices.Contains(sources, one) })
	if len(sources) == 0 {
		return report, nil, ErrNotWatching
	}
	n := slices.Index(sources, c.turn)
	if n < 0 {
		n, c.skipped = 0, false
	}
	of = sources[n]
	report, err = c.checkPage(ctx, of)
	report.Scope = of.Scope().ID
	if err != nil && report.Scope != "" {
		err = fmt.Errorf("source of scope %q: %w", report.Scope, err)
	}
	last := n == len(sources)-1
	c.skipped = c.skipped || err != nil
	report.Complete = report.Complete && last && !c.skipped
	if c.turn = of; err != nil || c.sweeps[of] == (sweep{}) {
		c.turn = sources[(n+1)%len(sources)]
		c.skipped = c.skipped && !last
	}
	return report, of, err
}

func (c *Checker[T]) notChecked(err error) error {
	return &NotCheckedError{Name: c.config.Name, Err: err}
}

// checkPage compares the next page of the sweep with the store, rechecks what is not
// certain, and decides whether to relist.
func (c *Checker[T]) checkPage(ctx context.Context, of Informer[T]) (report Report, err error) {
	base, err := newBaseline(of)
	if err != nil {
		return report, err
	}
	report.ResourceVersion = base.Version
	at := c.sweeps[of]
	if at.epoch != base.epoch {
		at = sweep{epoch: base.epoch}
	}
	page, next, err := c.comparePage(ctx, base, at, &report)
	if at.token != "" && apierrors.IsResourceExpired(err) {
		// The server no longer has the version of the previous pages, and returns a
		// token to continue at its latest version.
		token := latestToken(err)
		c.sweeps[of] = sweep{}
		if token == "" {
			return report, err
		}
		at.token = token
		page, next, err = c.comparePage(ctx, base, at, &report)
	}
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsBadRequest(err) || errors.Is(err, ErrNotExact) {
			c.sweeps[of] = sweep{}
		}
		return report, err
	}
	c.sweeps[of] = at.next(page.pending > 0, page.last, next)
	c.confirm(ctx, base, page, &report)
	report.Complete = next == ""
	report.Compared, report.Skipped = page.compared, report.Skipped+page.skipped
	report.Relisting = report.Differences > 0 && !c.config.Options.ReportOnly && c.anyNew(report.Found)
	return report, nil
}

// newBaseline returns the store at a version that it exactly equals.
func newBaseline[T any](of Informer[T]) (*baseline[T], error) {
	status := of.Status()
	if status.Phase != reflector.Watching || status.Degraded {
		return nil, ErrNotWatching
	}
	base := &baseline[T]{View: of.View(), of: of, scope: of.Scope(), epoch: status.Epoch}
	if base.Version == "" || base.Version == "0" || base.Unlisted > 0 {
		return nil, ErrNotExact
	}
	return base, nil
}

// comparePage requests the page of a sweep and compares it.
func (c *Checker[T]) comparePage(ctx context.Context, base *baseline[T], at sweep, report *Report) (page *comparison[T], next string, err error) {
	req := source.ListRequest[T]{Exact: true, Continue: at.token, Limit: c.config.Options.Limit}
	if at.token == "" {
		req.ResourceVersion = base.Version
	}
	page, next, err = c.request(ctx, base, at.after, req, report, nil)
	if err != nil {
		return nil, "", err
	}
	switch whole := at.token == "" && next == ""; {
	case page.unidentified:
	case whole:
		page.surplus(base.Snapshot.SpanKeys(base.scope.Span), true)
	case page.ordered:
		page.surplus(keysIn(base.Snapshot, at.after, page.last, next == ""), false)
	}
	return page, next, nil
}

// request sends one request and compares the items of the answer, or if only is not
// nil, those of that key alone.
func (c *Checker[T]) request(ctx context.Context, base *baseline[T], after cursor, req source.ListRequest[T], report *Report, only *store.Key) (*comparison[T], string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	cmp := &comparison[T]{base: base, config: &c.config, last: after, ordered: true, seen: make(map[store.Key]struct{})}
	// Items that arrive before the page's version wait for it.
	var waiting []source.Item[T]
	next, items := "", int64(0)
	err := base.of.Sample(ctx, req, func(page source.Page[T]) error {
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
			exact := page.ResourceVersion == base.Version || req.Continue != ""
			if page.ResourceVersion == "" || !exact || !cmp.setVersion(page.ResourceVersion) {
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

// maxRechecks is how many objects a check requests by name.
const maxRechecks = 4

// confirm rechecks the candidates that are not certain, and adds to the report those
// that are differences.
func (c *Checker[T]) confirm(ctx context.Context, base *baseline[T], page *comparison[T], report *Report) {
	rechecks := 0
	for _, candidate := range page.candidates {
		found, differs := candidate.Inconsistency, candidate.certain
		if !differs && rechecks < maxRechecks {
			rechecks++
			found, differs = c.recheck(ctx, base, candidate, report)
		}
		switch {
		case !differs:
			report.Skipped++
		case len(report.Found) < maxFound:
			report.Found = append(report.Found, found)
			fallthrough
		default:
			report.Differences++
		}
	}
}

// recheck requests one object by name, at the version of the baseline, and returns its
// difference.
func (c *Checker[T]) recheck(ctx context.Context, base *baseline[T], candidate candidate, report *Report) (found Inconsistency, differs bool) {
	selector := "metadata.name=" + candidate.name.name
	if candidate.name.namespace != "" {
		selector += ",metadata.namespace=" + candidate.name.namespace
	}
	req := source.ListRequest[T]{Exact: true, ResourceVersion: base.Version, Limit: c.config.Options.Limit, FieldSelector: selector}
	cmp, next, err := c.request(ctx, base, cursor{}, req, report, &candidate.Key)
	if err != nil || cmp.unidentified {
		return found, false
	}
	if _, has := cmp.seen[candidate.Key]; !has {
		if next != "" {
			return found, false // it may be on a later page
		}
		cmp.compare(candidate.Key, nil)
	}
	if len(cmp.candidates) == 0 {
		return found, false
	}
	return cmp.candidates[0].Inconsistency, true
}

// anyNew reports whether found has a difference that did not cause the last relist.
func (c *Checker[T]) anyNew(found []Inconsistency) bool {
	anyNew := false
	for _, f := range found {
		_, known := c.relisted[f]
		anyNew = anyNew || !known
	}
	if anyNew {
		c.relisted = make(map[Inconsistency]struct{}, len(found))
		for _, f := range found {
			c.relisted[f] = struct{}{}
		}
	}
	return anyNew
}

// report reports the differences of a source, and triggers its relist if
// report.Relisting is set.
func (c *Checker[T]) report(of Informer[T], report *Report) {
	err := &InconsistentError{
		Name: c.config.Name, ResourceVersion: report.ResourceVersion,
		Found: report.Found, Differences: report.Differences,
	}
	of.Report(err)
	if !report.Relisting {
		return
	}
	keys := make(map[store.Key]struct{}, len(report.Found))
	for _, f := range report.Found {
		keys[f.Key] = struct{}{}
	}
	of.Relist(err, keys)
}

// latestToken returns the token in a server's 410 to continue at its latest version;
// empty if there is none.
func latestToken(err error) string {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return ""
	}
	return api.Status().Continue
}
