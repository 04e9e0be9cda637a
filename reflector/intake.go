package reflector

import (
	"errors"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// page handles one page from the source.
func (d *driver[T]) page(page source.Page[T]) error {
	if d.next.Kind != 0 {
		return errAbandoned
	}
	now := d.clock()
	d.deadline.came(now, true)
	in := machine.Input{
		Kind:      machine.Page,
		At:        machine.Nanos(now),
		Items:     int64(len(page.Items)),
		Version:   page.ResourceVersion,
		Continue:  page.Continue,
		More:      page.More,
		Remaining: page.Remaining,
		Bytes:     page.Bytes,
	}
	for i := range page.Items {
		if unreadable(&page.Items[i]) {
			in.Failure = lost(page.Items[i].Err)
			in.Unreadable++
		}
	}
	effects := d.machine.Step(in)
	for i := range effects {
		if effects[i].Kind == machine.Stage {
			d.staged.page(page.Items)
			d.staged.bytes += page.Bytes
			continue
		}
		d.perform(&effects[i])
	}
	if err := d.withinLimits(); err != nil {
		return err
	}
	return d.settle()
}

// events handles one batch from the source. It passes the events to apply on
// as subslices of the batch, without a copy.
func (d *driver[T]) events(batch []source.Event[T]) error {
	d.opened()
	if d.next.Kind != 0 {
		return errAbandoned
	}
	now := d.clock()
	d.deadline.came(now, true)
	batch, full := d.fitting(batch)
	// batch[first:end] is not applied yet; version is the sink's version once
	// it is.
	first, end, version := 0, 0, ""
	flush := func() {
		if first < end {
			r := d.reflector
			r.sink.Apply(r.options.Scope, batch[first:end], version)
		}
		first = end
	}
	for i := range batch {
		event := &batch[i]
		in := input(event, d.machine.Phase == machine.Watching)
		in.At = machine.Nanos(now)
		if in.Event == machine.Error {
			in.Fake = d.mayBeFake()
		}
		effects := d.machine.Step(in)
		for j := range effects {
			switch e := &effects[j]; e.Kind {
			case machine.Apply:
				if end != i {
					flush()
					first = i
				}
				end, version = i+1, e.Version
			case machine.Stage:
				d.staged.add(event.Item)
				d.staged.bytes += event.Bytes
			case machine.Restage:
				d.staged.replace(event.Item)
				d.staged.bytes += event.Bytes
			case machine.Unstage:
				d.staged.remove(event.Key)
			case machine.SetTimeouts:
				d.perform(e) // it has nothing to do with the sink
			default:
				flush()
				d.perform(e)
			}
		}
		if err := d.withinLimits(); err != nil {
			// Stop before a later event could publish what is staged.
			full = err
			break
		}
		if d.next.Kind != 0 {
			break
		}
	}
	flush()
	if d.next.Kind == 0 && full != nil {
		d.share()
		return full
	}
	return d.settle()
}

// settle ends the handling of a page or a batch: it shares the state, and
// returns errAbandoned if the machine gave up the request.
func (d *driver[T]) settle() error {
	d.share()
	d.deadline.came(d.clock(), false)
	if d.next.Kind != 0 {
		return errAbandoned
	}
	return nil
}

// input converts an event to an input of the machine; watching is whether it
// comes after the initial events.
func input[T any](e *source.Event[T], watching bool) machine.Input {
	in := machine.Input{
		Kind:             machine.Event,
		Event:            eventType(e.Type),
		Version:          e.ResourceVersion,
		InitialEventsEnd: e.InitialEventsEnd,
		Bytes:            e.Bytes,
	}
	switch in.Event {
	case machine.Error:
		in.Failure = classify(e.Err)
		if in.Failure.Class == machine.NoFailure {
			// An Error event ends the stream, even if it names no error.
			in.Failure.Class = machine.Transport
			in.Failure.Err = errors.Join(errors.New("an error event that names no error"), e.Err)
		}
	case machine.Unknown:
		in.Failure = machine.Failure{Class: machine.Protocol, Err: e.Err}
		in.OtherKind = otherKind(&e.Item)
		if e.Err == nil {
			in.Failure = lost(errors.New("an event of unknown type"))
		}
	case machine.Added, machine.Modified, machine.Deleted:
		switch {
		case otherKind(&e.Item) && watching:
			// It says nothing about this collection. The sink reports it.
			in.Version = ""
		case otherKind(&e.Item) && in.Event == machine.Deleted:
			in.Event, in.OtherKind = machine.Unknown, true
			in.Failure = machine.Failure{Class: machine.Protocol, Err: e.Err}
		case unreadable(&e.Item):
			in.Unreadable = 1
			in.Failure = lost(e.Err)
		}
	}
	return in
}

// eventType returns the machine's type, which has the same number.
func eventType(t source.EventType) machine.EventType {
	if t == 0 || t > source.Unknown {
		t = source.Unknown
	}
	return machine.EventType(t)
}

// unreadable reports whether the identity of the object could not be read.
func unreadable[T any](item *source.Item[T]) bool {
	return item.Err != nil && item.Key == (store.Key{})
}

// lost returns the failure of an object whose identity could not be read.
func lost(err error) machine.Failure {
	return machine.Failure{Class: machine.Protocol, Err: &unreadableError{err}}
}

// unreadableError wraps ErrUnreadable and the source's error.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return machine.Unreadable.Error() + ": " + e.err.Error() }

func (e *unreadableError) Unwrap() []error { return []error{machine.Unreadable, e.err} }
