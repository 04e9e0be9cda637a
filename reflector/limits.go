package reflector

import (
	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// withinLimits returns a *LimitError if what is staged exceeds a limit. When a
// request returns that error, the machine discards what is staged.
func (d *driver[T]) withinLimits() error {
	o := &d.reflector.options
	switch s := &d.staged; {
	case s.items > o.MaxObjects:
		return &LimitError{Option: "MaxObjects", Limit: o.MaxObjects, Reached: s.items}
	case s.bytes > o.MaxListBytes:
		return &LimitError{Option: "MaxListBytes", Limit: o.MaxListBytes, Reached: s.bytes}
	}
	return nil
}

// fitting returns the part of a watch's batch that the sink has room for, and
// a *LimitError if that is not all of it. It asks the sink for its size only
// when the events since the last time could have filled it.
func (d *driver[T]) fitting(batch []source.Event[T]) ([]source.Event[T], error) {
	if d.machine.Phase != machine.Watching {
		return batch, nil
	}
	if d.room -= int64(len(batch)); d.room >= 0 {
		return batch, nil
	}
	r := d.reflector
	sized, ok := r.sink.(Sized)
	if !ok {
		d.room = r.options.MaxObjects
		return batch, nil
	}
	size, limit := int64(sized.Len()), r.options.MaxObjects
	if d.room = limit - size - int64(len(batch)); d.room >= 0 {
		return batch, nil
	}
	d.room = 0
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
			size++
		case was && !is:
			size--
		}
		if size > limit {
			return batch[:i], &LimitError{Option: "MaxObjects", Limit: limit, Reached: size}
		}
	}
	return batch, nil
}
