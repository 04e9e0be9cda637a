package reflector

import (
	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// withinLimits returns a *LimitError if what is staged, with what the sink holds of other
// scopes, exceeds a limit. When a request returns that error, the machine discards what is
// staged.
func (d *driver[T]) withinLimits() error {
	o, s := &d.reflector.options, &d.staged
	if s.items > 0 {
		if reached := s.items + d.staging(s.items); reached > o.MaxObjects {
			return &LimitError{Option: "MaxObjects", Limit: o.MaxObjects, Reached: reached}
		}
	}
	if s.bytes > o.MaxListBytes {
		return &LimitError{Option: "MaxListBytes", Limit: o.MaxListBytes, Reached: s.bytes}
	}
	return nil
}

// staging tells a Sized sink how many objects are staged, and returns how many others it
// has.
func (d *driver[T]) staging(n int64) (others int64) {
	if sized, ok := d.reflector.sink.(Sized); ok {
		others = int64(sized.Staging(d.reflector.options.Scope, int(n)))
	}
	return others
}

// fitting returns the part of a watch's batch that the sink has room for, and
// a *LimitError if that is not all of it.
func (d *driver[T]) fitting(batch []source.Event[T]) ([]source.Event[T], error) {
	r := d.reflector
	sized, ok := r.sink.(Sized)
	if !ok || d.machine.Phase != machine.Watching {
		return batch, nil
	}
	size, limit := int64(sized.Len()), r.options.MaxObjects
	if size+int64(len(batch)) <= limit {
		return batch, nil
	}
	// Whether the batch fits depends on which keys are new. there records, for
	// each key seen in the batch, whether its object exists.
	there := map[store.Key]bool{}
	for i := range batch {
		e := &batch[i]
		if !e.Type.HasObject() || !named(&e.Item) {
			continue
		}
		was, touched := there[e.Key]
		if !touched {
			_, _, was = r.sink.Held(e.Key)
		}
		// A version that cannot be applied adds no object.
		is := e.Type != source.Deleted && (was || e.Err == nil)
		there[e.Key] = is
		switch {
		case is && !was:
			// Sources together may hold more: what adds nothing goes on.
			if size++; size > limit {
				return batch[:i], &LimitError{Option: "MaxObjects", Limit: limit, Reached: size}
			}
		case was && !is:
			size--
		}
	}
	return batch, nil
}
