// Package workqueue is a drop-in for k8s.io/client-go/util/workqueue: change
// that one import to this one, and a program compiles, behaves, and runs on
// kinglet's queue.
//
// A queue holds items, which are usually keys of something. It holds an item once
// however often that is added. One worker at a time processes the item, which is queued
// again if it was added meanwhile.
//
// # What is whose
//
// Interfaces, configurations and metrics are aliases of client-go's, so that values
// pass freely to and from code that was compiled with client-go's package: a
// controller-runtime controller takes one of these queues from its option NewQueue.
// Queues are this package's own, over internal/keyqueue, which keeps one record of an
// item where client-go has up to four sets and maps. So are the rate
// limiters that count failures, and [ParallelizeUntil]. The other rate limiters
// ([TypedBucketRateLimiter], [TypedMaxOfRateLimiter], [TypedWithMaxWaitRateLimiter])
// are aliases.
//
// # Goroutines
//
// A queue has none. With metrics it has one, which counts unfinished work every half
// second. A delaying queue has one more, and another if it was given a clock or a
// queue. ShutDown and ShutDownWithDrain end them.
//
// # Metrics
//
// A queue with a name has metrics, from the provider in its configuration, else from
// that of [SetProvider], else from the one that client-go's package was given. The last
// costs as much as one more queue of client-go's for each queue here; a program that
// cares calls SetProvider.
//
// # Differences
//
// Where client-go is known to be wrong or weak, this package differs; the last two
// are only differences. Each of these is a test that runs over both and so notices
// when client-go has been mended.
//
//   - When Done is called of an item that is queued and that nobody processes:
//     it stands in the queue twice, and two workers process it at a time. Here:
//     nothing happens.
//   - When two goroutines wait in ShutDownWithDrain, and the last item is done:
//     one of them waits for ever. Here: both return.
//   - When a delaying queue was shut down, is then drained, and ShutDown is to
//     end the drain: only the first ShutDown counts: the drain goes on. Here:
//     the drain ends.
//   - When a delaying queue is shut down with ShutDownWithDrain: its goroutine
//     lives on for up to 10 s, and its ticker for ever. Here: both end at once.
//   - When the queue below a delaying queue stands still in Add: AddAfter
//     blocks once 1,000 more are under way. Here: AddAfter never blocks.
//   - When items fail, and Forget is never called: rate limiters count their
//     failures for ever. Here: an item that has not failed for an hour, and for
//     ten times the longest delay, starts anew within as long again.
//     (https://github.com/kubernetes/kubernetes/issues/138743)
//   - When an exponential delay would be 2^63 ns: it is negative on amd64, so
//     that the item is retried at once. Here: it is the longest delay.
//   - When an item is added again and again to a queue with the default limiter
//     for controllers, while it waits for its token: each time takes a token,
//     and all other items wait for it: by a tenth of a second each. Here: an
//     item has one token to come.
//   - When ParallelizeUntil is given fewer than no pieces: it panics: makechan:
//     size out of range. Here: there is nothing to do.
//   - When an item does not equal itself, such as a NaN: each one that is added is
//     handed out. Here: it is dropped, since Done would not find it.
//   - When the Queue of a configuration holds items already: they are handed out.
//     Here: they are dropped.
//
// # What stays
//
// Three behaviours that users complain about are part of the interface, and other
// programs depend on them: an Add does not end a delay of the same item, which is
// added again when the delay is over; all items share one bucket;
// ShutDownWithDrain does not wait for queued items while none is processed. Package
// controller has none of these.
package workqueue
