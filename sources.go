package kinglet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/engine/sink"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Scope is a part of the key space that one source speaks for.
type Scope = store.Scope

// ScopedSource is one of several sources of an informer.
type ScopedSource[T any] struct {
	// Scope is the part of the key space that Source speaks for. Its ID is unique
	// in the informer, and its keys are in no other scope.
	Scope Scope
	// Source lists and watches the objects of the scope and no others: an object
	// outside it is reported and not stored.
	Source source.Source[T]
	// Whole reads the objects of the scope whole, for an OnDemand; nil for other informers.
	Whole source.Source[T]
}

// NamespaceScope returns the scope of one namespace, or of cluster-scoped objects if
// namespace is empty. Its ID is the namespace.
func NamespaceScope(namespace string) Scope {
	return Scope{ID: namespace, Span: store.NamespaceSpan(namespace)}
}

var (
	// ErrScopeExists means that the informer has a source with the same scope ID.
	ErrScopeExists = errors.New("a source with this scope ID exists")
	// ErrNoScope means that the informer has no source with the scope ID.
	ErrNoScope = own.ErrNoScope
)

// NewScoped returns an informer of several sources, each for a scope of its own: the
// namespaces of a program that may read no others, for example. The sources have one
// store, with one key order and one set of indexes, and each handler is registered once
// and receives the changes of all of them. It starts nothing: see Run. There may be no
// source at all; AddSource and RemoveSource change the set at any time.
//
// The informer has synced once all sources that it has by then have been listed. Handlers
// begin then, so a source that is refused holds up the first calls of all; reads show the
// objects of the others meanwhile. RemoveSource ends the wait. Each scope has its own
// resource version, which Snapshot.ResourceVersion returns; Status has none, sums the
// counts of all sources, and shows the phase of the one that is furthest from watching.
// Changes of one scope reach handlers in the order of the
// server; there is no order between scopes.
//
// Reads include the program's own writes: an object's key determines the scope of a
// write, and the scope's version determines when the watch has passed it. Wrote and
// WaitVersion describe what is different with several sources.
//
// Consistency checks compare one source after the other.
// Inspect shows the transitions and the request of the source that is furthest from
// watching. DeliveredThrough of a registration is empty once there has been a second
// source.
//
// The first source runs on Run's goroutine, each other one on a goroutine of its own.
func NewScoped[T any](opts Options[T], sources ...ScopedSource[T]) (*Informer[T], error) {
	if opts.Name == "" {
		opts.Name = "several sources"
		if len(sources) > 0 && sources[0].Source != nil {
			opts.Name = sources[0].Source.String()
		}
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", opts.Name, err)
	}
	i := &Informer[T]{opts: opts, synced: make(chan struct{}), stopped: make(chan struct{})}
	i.sources.informer = i
	if err := i.assemble(); err != nil {
		return nil, i.named(err)
	}
	for _, s := range sources {
		if err := i.AddSource(s); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// sources are what an informer lists and watches.
type sources[T any] struct {
	informer *Informer[T]
	// live is set once handlers have begun, or are about to, before Hub.Synced is
	// called.
	live atomic.Bool
	// several is set once there has been a source of a second scope, whose versions are
	// not those of the first, even if that had left.
	several atomic.Bool
	// epoch grows with each source, and whenever a server began to number anew: a version
	// may stand for another object from then on.
	epoch   atomic.Uint64
	arrived sink.Arrived
	running sync.WaitGroup
	// changing is held while sources are removed. It is locked before mu.
	changing sync.Mutex

	mu sync.Mutex
	// What follows is guarded by mu.

	// all are in the order in which they were added. The slice is replaced and never
	// changed.
	all []*pipeline[T]
	// joined is set once there has been a source, and scope is the first one's.
	joined bool
	scope  string
	// ctx is what the sources run under; nil before Run.
	ctx context.Context
	// ended is when Run's context has ended; from then on no source is added or removed any
	// more.
	ended time.Time
	// left has the counts of sources that have left, which do not go back.
	left Status
	// coming are the scope IDs that SetSources is about to add.
	coming []string
	// errs are what reflectors returned.
	errs []error
}

// pipeline is one source with its reflector and its sink.
type pipeline[T any] struct {
	ScopedSource[T]
	sink      *sink.Sink[T]
	reflector *reflector.Reflector[T]
	// listed is closed when the first list is in the store.
	listed chan struct{}
	// before is the version at which the store held objects of the scope before that: see
	// sources.versionReached.
	before string
	// leaving and stop are guarded by sources.mu. stop is nil before Run.
	leaving bool
	stop    context.CancelFunc
	// done is closed when the reflector has returned.
	done chan struct{}
}

// AddSource adds a source, before Run or during it. A source that is added during Run
// is listed at once. Handlers that have begun receive the objects of its first list as
// Added with reason Initial. AddSource does not block. It fails with ErrScopeExists, and
// with ErrStopped once the informer has stopped. The scope of New's source is
// everything, which leaves no key to another one.
func (i *Informer[T]) AddSource(s ScopedSource[T]) error {
	if err := i.sources.add(s); err != nil {
		return i.named(fmt.Errorf("source of scope %q: %w", s.Scope.ID, err))
	}
	return nil
}

// RemoveSource removes a source, before Run or during it, and the objects of its scope.
// Handlers receive each object as a Deleted with FinalStateUnknown, because the server
// may still have it. Own writes in the scope end, each with an *UnconfirmedWriteError
// to OnError, and so do waits for the scope's version; both errors wrap ErrNoScope.
// RemoveSource blocks until the source's request under way has ended, and looks at
// every object in the Span of the scope. It must not be called from OnError. It fails
// with ErrNoScope, and with ErrStopped once the informer has stopped.
func (i *Informer[T]) RemoveSource(scope string) error {
	if err := i.sources.remove(scope); err != nil {
		return i.named(fmt.Errorf("source of scope %q: %w", scope, err))
	}
	return nil
}

// WaitSourceVersion is WaitVersion for one source. The error wraps ErrNoScope if there
// is no such source, or if it is removed meanwhile.
func (i *Informer[T]) WaitSourceVersion(ctx context.Context, scope, rv string) error {
	return i.notReached(scope, rv, i.own.WaitScope(ctx, scope, rv))
}

// SourceStatus returns the status of one source: its phase, resource version, counts
// and last error.
func (i *Informer[T]) SourceStatus(scope string) (reflector.Status, bool) {
	if p := i.sources.find(scope); p != nil {
		return p.reflector.Status(), true
	}
	return reflector.Status{}, false
}

// SourceSynced returns a channel that is closed when the first list of one source is in
// the store, and nil if there is no such source. It stays open if the source is removed
// first.
func (i *Informer[T]) SourceSynced(scope string) <-chan struct{} {
	if p := i.sources.find(scope); p != nil {
		return p.listed
	}
	return nil
}

func (p *sources[T]) find(scope string) *pipeline[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.findLocked(scope)
}

func (p *sources[T]) findLocked(scope string) *pipeline[T] {
	for _, one := range p.all {
		if one.Scope.ID == scope {
			return one
		}
	}
	return nil
}

func (p *sources[T]) add(s ScopedSource[T]) error {
	if err := p.check(s); err != nil {
		return err
	}
	one, err := p.pipeline(s, "")
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.coming, s.Scope.ID) {
		return ErrScopeExists
	}
	return p.joinLocked(one, false)
}

// pipeline returns a source with its reflector. before is the version at which the store
// holds objects of the scope; empty if it holds none.
func (p *sources[T]) pipeline(s ScopedSource[T], before string) (_ *pipeline[T], err error) {
	i := p.informer
	one := &pipeline[T]{ScopedSource: s, before: before, listed: make(chan struct{}), done: make(chan struct{})}
	followed, stepped := s.Source, (func([]store.Change[T], bool))(nil)
	if d := i.opts.demand; d != nil {
		followed, stepped = d.join(s)
	}
	one.sink = sink.New(sink.Options[T]{
		Store:             i.store,
		Hub:               i.hub,
		Own:               i.own,
		Detector:          i.detector,
		UID:               i.opts.UID,
		Version:           objectVersion[T],
		RemoveUndecodable: i.opts.RemoveUndecodable,
		Report:            i.opts.OnError,
		Synced:            func() { p.listed(one) },
		Stepped:           stepped,
		Arrived:           &p.arrived,
		Epoch:             &p.epoch,
		Live:              p.live.Load,
		Several:           p.several.Load,
	})
	opts := i.opts.reflector()
	opts.Scope, opts.Held, opts.Latest = s.Scope, before, i.own.Recent
	one.reflector, err = reflector.New(followed, one.sink, opts)
	return one, err
}

// joinLocked adds a source, and starts it during Run. entered is set if its scope is already
// among those of own writes.
func (p *sources[T]) joinLocked(one *pipeline[T], entered bool) error {
	if !p.ended.IsZero() || p.ctx != nil && p.ctx.Err() != nil {
		return ErrStopped
	}
	if p.findLocked(one.Scope.ID) != nil {
		return ErrScopeExists
	}
	p.all = append(slices.Clip(p.all), one)
	p.informer.first.CompareAndSwap(nil, &one.Source)
	p.epoch.Add(1)
	if !p.joined {
		p.joined, p.scope = true, one.Scope.ID
	}
	if one.Scope.ID != p.scope {
		p.several.Store(true)
	}
	if !entered {
		p.informer.own.Enter(one.Scope, func() bool { return one.Source.Traits().Whole })
	}
	if p.ctx != nil {
		p.startLocked(one)
	}
	return nil
}

// check returns an error if a source cannot be followed, or an index reads what it leaves out.
func (p *sources[T]) check(s ScopedSource[T]) error {
	if s.Source == nil {
		return errors.New("no source")
	}
	if p.informer.opts.demand != nil && s.Whole == nil {
		return errors.New("no source of whole objects, which an informer on demand needs")
	}
	for name, fn := range p.informer.store.IndexFuncs() {
		if err := checkIndex(s.Source, name, fn); err != nil {
			return err
		}
	}
	return nil
}

func (p *sources[T]) startLocked(one *pipeline[T]) {
	var ctx context.Context
	ctx, one.stop = context.WithCancel(p.ctx)
	p.running.Go(func() { p.follow(ctx, one) })
}

// follow runs a source until ctx ends.
func (p *sources[T]) follow(ctx context.Context, one *pipeline[T]) {
	defer close(one.done)
	defer one.stop()
	if err := one.reflector.Run(ctx); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, err)
	}
}

func (p *sources[T]) remove(scope string) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	one, err := p.beginRemoval(scope)
	if err != nil {
		return err
	}
	if one.stop != nil {
		one.stop()
		<-one.done
	}
	one.sink.Leave(one.Scope)
	_, err = p.replace([]*pipeline[T]{one}, nil)
	return err
}

// beginRemoval marks a source as leaving. Its scope ID stays in use until its objects
// are gone.
func (p *sources[T]) beginRemoval(scope string) (*pipeline[T], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.findLocked(scope)
	switch {
	case !p.ended.IsZero():
		return nil, ErrStopped
	case one == nil || one.leaving:
		return nil, ErrNoScope
	}
	one.leaving = true
	return one, nil
}

// listed records that a source's first list is in the store.
func (p *sources[T]) listed(one *pipeline[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(one.listed)
	p.announceLocked()
}

// announceLocked lets handlers begin once each source that stays has been listed.
func (p *sources[T]) announceLocked() {
	waits := func(one *pipeline[T]) bool { return !one.leaving && !closed(one.listed) }
	if p.ctx == nil || p.live.Load() || slices.ContainsFunc(p.all, waits) {
		return
	}
	p.live.Store(true)
	p.informer.hub.Synced()
	close(p.informer.synced)
}

// run runs all sources until ctx ends, the first of them on this goroutine.
func (p *sources[T]) run(ctx context.Context) error {
	p.mu.Lock()
	p.ctx = ctx
	var first *pipeline[T]
	var its context.Context
	for _, one := range p.all {
		switch {
		case one.leaving:
		case first == nil:
			first = one
			its, one.stop = context.WithCancel(ctx)
		default:
			p.startLocked(one)
		}
	}
	p.announceLocked()
	p.mu.Unlock()
	if first != nil {
		p.follow(its, first)
	}
	<-ctx.Done()
	p.mu.Lock()
	p.ended = time.Now()
	p.mu.Unlock()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// sourceOf returns the source of the scope that a key is in, or nil.
func (p *sources[T]) sourceOf(key Key) *pipeline[T] {
	for _, one := range p.each() {
		if one.Scope.Has(key) {
			return one
		}
	}
	return nil
}

// each returns the sources that there are now, for reading.
func (p *sources[T]) each() []*pipeline[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// quarantined returns the quarantined keys of all sources, in key order.
func (p *sources[T]) quarantined() (all []Quarantined) {
	for _, one := range p.each() {
		all = append(all, one.sink.Quarantine.List()...)
	}
	slices.SortFunc(all, func(a, b Quarantined) int { return a.Key.Compare(b.Key) })
	return all
}

// addTo adds the status of all sources together, and the counts of those that have left.
func (p *sources[T]) addTo(s *Status) {
	p.mu.Lock()
	all, left, ended := p.all, p.left, p.ended
	p.mu.Unlock()
	if len(all) == 0 && !ended.IsZero() {
		s.Phase, s.Since = reflector.Stopped, ended
	}
	for n, one := range all {
		st := one.reflector.Status()
		if n == 0 {
			s.Status = st
		} else {
			s.Status = mergedStatus(s.Status, st)
		}
		one.sink.Quarantine.AddTo(s)
	}
	addCounts(&s.Status, &left.Status)
	s.Failures += left.Failures
	for stage, n := range left.FailuresByStage {
		s.FailuresByStage[stage] += n
	}
}

// furthest returns the reflector that is furthest from watching; nil if there is none.
func (p *sources[T]) furthest() (worst *reflector.Reflector[T]) {
	far := -1
	for _, one := range p.each() {
		if d := distance(one.reflector.Status().Phase); d > far {
			worst, far = one.reflector, d
		}
	}
	return worst
}

// distance returns how far a phase is from watching.
func distance(p reflector.Phase) int {
	return slices.Index([]reflector.Phase{
		reflector.Stopped, reflector.Watching, reflector.Streaming, reflector.Listing, reflector.Starting, reflector.BackingOff,
	}, p)
}

// mergedStatus returns the status of two sources together.
func mergedStatus(a, b reflector.Status) reflector.Status {
	if distance(b.Phase) > distance(a.Phase) {
		a.Phase, a.Since = b.Phase, b.Since
	}
	longer := !b.FailingSince.IsZero() && (a.FailingSince.IsZero() || b.FailingSince.Before(a.FailingSince))
	if longer || a.FailingSince.IsZero() && b.LastErrorTime.After(a.LastErrorTime) {
		a.LastError, a.LastErrorTime = b.LastError, b.LastErrorTime
	}
	if longer {
		a.FailingSince = b.FailingSince
	}
	if b.Recent.LastTime.After(a.Recent.LastTime) {
		a.Recent.Last, a.Recent.LastTime = b.Recent.Last, b.Recent.LastTime
	}
	// Not the sum: a server that was away once made each source fail once.
	a.Recent.Count = max(a.Recent.Count, b.Recent.Count)
	if first := b.Recent.FirstTime; !first.IsZero() && (a.Recent.FirstTime.IsZero() || first.Before(a.Recent.FirstTime)) {
		a.Recent.FirstTime = first
	}
	// Both are of the source whose bookmark is due first.
	due := func(s *reflector.Status) time.Time { return s.LastContact.Add(s.BookmarkInterval) }
	if aSends, bSends := a.BookmarkInterval > 0, b.BookmarkInterval > 0; bSends && !aSends || bSends == aSends && due(&b).Before(due(&a)) {
		a.LastContact, a.BookmarkInterval = b.LastContact, b.BookmarkInterval
	}
	if b.LastEvent.After(a.LastEvent) {
		a.LastEvent = b.LastEvent
	}
	if b.ReadPath.Lost() && !a.ReadPath.Lost() {
		a.ReadPath = b.ReadPath
	}
	a.Degraded = a.Degraded || b.Degraded
	a.Received, a.Remaining = a.Received+b.Received, a.Remaining+b.Remaining
	addCounts(&a, &b)
	return a
}

// addCounts adds what a source has counted since its start.
func addCounts(a, b *reflector.Status) {
	a.Epoch = max(a.Epoch, b.Epoch)
	a.Bytes += b.Bytes
	a.Lists, a.Streams, a.Watches, a.Probes = a.Lists+b.Lists, a.Streams+b.Streams, a.Watches+b.Watches, a.Probes+b.Probes
	a.Published += b.Published
	a.Events, a.Bookmarks, a.Duplicates = a.Events+b.Events, a.Bookmarks+b.Bookmarks, a.Duplicates+b.Duplicates
	a.SilentWatches, a.Unreadable, a.Errors = a.SilentWatches+b.SilentWatches, a.Unreadable+b.Unreadable, a.Errors+b.Errors
	for i := range a.ListsByCause {
		a.ListsByCause[i] += b.ListsByCause[i]
	}
	for i := range a.WatchEnds {
		a.WatchEnds[i] += b.WatchEnds[i]
	}
	a.EventsByType.Added += b.EventsByType.Added
	a.EventsByType.Modified += b.EventsByType.Modified
	a.EventsByType.Deleted += b.EventsByType.Deleted
	for verb := range a.ErrorsBy {
		for code := range a.ErrorsBy[verb] {
			a.ErrorsBy[verb][code] += b.ErrorsBy[verb][code]
		}
	}
}
