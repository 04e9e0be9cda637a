// Package connection gives busy watches connections of their own, whose events are read when
// it pays, and lets other connections notice a dead peer.
//
// A cluster sends an informer 20, 200 or 2,000 events a second, one by one. Then an event
// costs what waking up costs: the poller, a thread, a system call, a TLS record, and all of
// it with cold caches. So a stream that is busy reads at ticks, and takes whatever has come
// with one system call. Between two ticks the kernel is asked to be silent (SO_RCVLOWAT),
// unless a large read could be filled. Its parts:
//
//   - A Route decides whether a source's watch shares a connection, and Wrap follows it. An
//     own one speaks HTTP/1.1: there the watch's goroutine reads the socket. Over HTTP/2
//     another does, and hands over every frame; and no stream could wait without its
//     neighbours.
//   - conn reads a connection in large pieces, and knows what is left of one.
//   - Stream is the body of the answer. It returns all events that are there together.
//   - pacer knows how busy the process is, and when the next tick is.
package connection
