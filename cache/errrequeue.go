package cache

import "github.com/kinglet-go/kinglet/cache/internal/fifo"

// ErrRequeue makes Pop put back what it popped, if a process function returns
// it. If the key is queued again already, a FIFO keeps the newer object, and
// the other queues put the older deltas before the newer ones. Pop returns the
// inner error, Err, which may be nil. All queues of this package support it;
// newer client-go no longer has it.
type ErrRequeue = fifo.ErrRequeue
