package fifo

import "log/slog"

// Options of a DeltaFIFO. The zero value works, and there is no wrong one.
type Options[K comparable, T any] struct {
	// Known is what the consumers have. Without it Replace finds only those
	// deletions whose objects are in the queue, Delete is ignored for objects
	// that are not in the queue, and Resync does nothing.
	Known Known[K, T]

	// Transform is given every object once, before it is queued; what it
	// returns is queued in its place, under the key that the object had
	// before. It may modify what it is given. It is called by the writer,
	// without a lock, so concurrently if there are several.
	//
	// What has been through it already is not given again: objects that are
	// synced, put back, or last seen before an unseen deletion.
	Transform func(T) (T, error)

	// ReplaceAsSync makes Replace queue Sync deltas in place of Replaced
	// ones, as consumers from before there was Replaced expect.
	ReplaceAsSync bool

	// OnError hears of failed look-ups in Known, as *LookupError. It is
	// called by the writer after its write, without a lock. The default
	// warns through the default logger of log/slog.
	OnError func(error)
}

func (o *Options[K, T]) report(errs []error) {
	for _, err := range errs {
		if o.OnError != nil {
			o.OnError(err)
			continue
		}
		slog.Default().Warn("a known object could not be looked up", "error", err)
	}
}
