package cache

import "github.com/kinglet-go/kinglet/cache/internal/fifo"

// ErrRequeue is what a process function returns to have what was popped put
// back, unless its key waits again already: then a FIFO keeps the newer object,
// and the other queues put the older deltas before the newer ones. Pop returns
// the inner error, Err, which may be nil. All queues of this package know it;
// newer client-go has it no more.
type ErrRequeue = fifo.ErrRequeue
