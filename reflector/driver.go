package reflector

import (
	"context"
	"errors"
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
)

// errAbandoned ends a request that the machine has given up.
var errAbandoned = errors.New("reflector: request given up")

// driver carries out the machine's effects. All of it runs on Run's goroutine.
type driver[T any] struct {
	reflector *Reflector[T]
	machine   *machine.Machine
	staged    stage[T]

	// now is the request or wait under way; next is the one that follows it. next.Kind
	// is 0 while the one under way goes on.
	now, next machine.Effect
	// relistIn is how long after its start a relist ends the request in next; negative
	// for never.
	relistIn time.Duration
	// unpublished is the Publish of a complete list that waits until the watch after it
	// is open, or nil.
	unpublished *machine.Effect

	// deadline, sent and timeout are of the request under way. sent is measured from
	// the reflector's origin.
	deadline *deadline
	sent     time.Duration
	timeout  time.Duration
}

// run is the loop that package machine describes.
//
// A request lasts as long as its watch, and so do the stack frames below it. A
// goroutine's stack shrinks only if less than a quarter of it is used, so run, send
// and what they call on the way to the source keep their frames small: an idle watch
// fits 8 KiB.
func (d *driver[T]) run(ctx context.Context) {
	d.start()
	for d.goesOn(ctx) {
		if d.now.Kind == machine.Wait {
			d.wait(ctx)
			continue
		}
		d.send(ctx)
	}
}

//go:noinline
func (d *driver[T]) start() {
	if latest := d.reflector.options.Latest; latest != nil && latest() && !d.machine.Synced {
		d.machine.VersionGone = true
	}
	d.step(machine.Input{Kind: machine.Start})
}

// goesOn moves next to now, unless ctx has ended.
//
//go:noinline
func (d *driver[T]) goesOn(ctx context.Context) bool {
	if ctx.Err() != nil || d.next.Kind != machine.Watch {
		d.publish()
	}
	d.share()
	if ctx.Err() != nil {
		d.step(machine.Input{Kind: machine.Stop})
		d.staging(0)
		d.share()
		return false
	}
	d.now, d.next = d.next, machine.Effect{}
	return true
}

// clock returns the machine's time. Reading it costs half of a time.Now.
func (d *driver[T]) clock() time.Duration { return time.Since(d.reflector.origin) }

// draw returns a random duration from [low, high).
func (d *driver[T]) draw(low, high machine.Nanos) time.Duration {
	return time.Duration(low) + time.Duration(d.reflector.options.Rand()*float64(high-low))
}

// wait waits, or returns when ctx ends.
func (d *driver[T]) wait(ctx context.Context) {
	select {
	case <-time.After(d.pause()):
		d.step(machine.Input{Kind: machine.Timer})
	case <-ctx.Done():
	}
}

// send sends a request and steps the machine with its results.
func (d *driver[T]) send(parent context.Context) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	d.watchOver(cancel)
	var err error
	if d.now.Kind == machine.List {
		err = d.list(ctx)
	} else {
		err = d.watch(ctx)
	}
	d.over(parent, ctx, err)
}

// watchOver sets the deadline of the request that is about to be sent, and records it.
//
//go:noinline
func (d *driver[T]) watchOver(cancel context.CancelCauseFunc) {
	d.sent, d.timeout = d.clock(), d.draw(d.now.Min, d.now.Max)
	d.deadline = newDeadline(cancel, d.reflector.origin, timeoutsOf(&d.now, d.sent, d.timeout))
	if d.relistIn >= 0 {
		d.deadline.relistAfter(d.relistIn)
	}
	r := &d.now.Request
	request := Request{
		Verb: Verb(r.Verb - machine.VerbList), ResourceVersion: r.Version, Continued: r.Continue != "", Limit: r.Limit,
		At: d.reflector.time(machine.Nanos(d.sent)), UnderWay: true, Timeout: d.timeout,
	}
	if d.now.Kind != machine.Watch {
		cancel = nil
	}
	d.reflector.requestBegins(request, cancel, d.machine.Phase)
}

// over steps the machine with the end of the request.
//
//go:noinline
func (d *driver[T]) over(parent, ctx context.Context, err error) {
	d.opened()
	d.deadline.stop()
	d.deadline = nil
	d.reflector.requestEnds()
	switch {
	case d.next.Kind != 0 || parent.Err() != nil:
	case context.Cause(ctx) == errTimedOut:
		d.step(machine.Input{Kind: machine.TimedOut, Failure: machine.Failure{Unanswered: unanswered(err)}})
	case context.Cause(ctx) == errRelistDue:
		d.step(machine.Input{Kind: machine.RelistDue})
	case context.Cause(ctx) == errDiffers:
		found, cause := d.reflector.takeFinding(), machine.CauseRequested
		if errors.Is(found, ErrInconsistent) {
			cause = machine.CauseConsistency
		}
		d.step(machine.Input{Kind: machine.Differs, Failure: machine.Failure{Err: found}, Cause: cause})
	default:
		d.step(machine.Input{Kind: machine.Ended, Failure: classify(err), Fake: d.mayBeFake()})
	}
}

func (d *driver[T]) list(ctx context.Context) error {
	r := &d.now.Request
	return d.reflector.source.List(ctx, source.ListRequest[T]{
		ResourceVersion: r.Version,
		NotOlderThan:    r.NotOlderThan,
		Continue:        r.Continue,
		Limit:           r.Limit,
		Once:            r.Once(),
		Held:            d.reflector.sink.Held,
		OnPath:          d.reflector.readBy,
	}, d.page)
}

func (d *driver[T]) watch(ctx context.Context) error {
	r := &d.now.Request
	req := source.WatchRequest[T]{
		ResourceVersion:   r.Version,
		SendInitialEvents: r.Verb == machine.VerbStream,
		Timeout:           d.timeout,
		Held:              d.reflector.sink.Held,
		OnPath:            d.reflector.readBy,
	}
	if d.unpublished != nil {
		req.OnOpen = d.opened
	}
	return d.reflector.source.Watch(ctx, req, d.events)
}

// opened publishes the list that waited for the watch under way to be open, if any.
func (d *driver[T]) opened() {
	if d.unpublished != nil {
		d.publish()
		d.share()
	}
}

// publish gives the sink the list that is complete, if there is one.
func (d *driver[T]) publish() {
	e := d.unpublished
	if e == nil {
		return
	}
	d.unpublished = nil
	r := d.reflector
	r.sink.Replace(r.options.Scope, d.staged.take(), e.Version, e.Epoch)
}

// step steps the machine with an input other than a page or an event.
func (d *driver[T]) step(in machine.Input) {
	in.At = machine.Nanos(d.clock())
	effects := d.machine.Step(in)
	for i := range effects {
		d.perform(&effects[i])
	}
}

// perform carries out one effect that needs no page or event.
func (d *driver[T]) perform(e *machine.Effect) {
	r := d.reflector
	switch e.Kind {
	case machine.List, machine.Watch, machine.Wait:
		d.next, d.relistIn = *e, -1
	case machine.SetTimeouts:
		d.deadline.setTimeouts(timeoutsOf(e, d.sent, d.timeout))
	case machine.RelistAfter:
		d.relistIn = d.draw(e.Min, e.Max)
		if d.next.Kind == 0 {
			d.deadline.relistAfter(d.relistIn)
		}
	case machine.Discard:
		d.staged = stage[T]{}
		d.staging(0)
	case machine.Publish:
		r.takeFinding() // this list answers the finding
		publish := *e
		d.unpublished = &publish
		if d.now.Kind != machine.List || !r.source.Traits().ReportsOpen {
			d.publish()
		}
	case machine.Advance:
		r.sink.Bookmark(r.options.Scope, e.Version)
	case machine.Report:
		if r.options.OnError != nil {
			r.options.OnError(r.wrap(&e.Failure))
		}
	}
	// Abandon needs no action: the request ends when its next page or batch is
	// refused. End leads out of run's loop.
}

// pause returns how long to wait now.
func (d *driver[T]) pause() time.Duration {
	low, high := d.now.Min, d.now.Max
	delay := d.reflector.options.Delay
	if delay == nil {
		return d.draw(low, high)
	}
	// The lower end is at least the server's Retry-After, as much of it as counts.
	return max(0, delay(), time.Duration(min(low, d.machine.Failure.RetryAfter)))
}
