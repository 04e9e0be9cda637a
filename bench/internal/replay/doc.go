// Package replay is an API server as far as an informer of pods looks, and a
// cheap one: it answers LIST, WATCH and WATCH with sendInitialEvents with the
// bytes that kube-apiserver would send, encoded before they are wanted, so
// that what is measured on the other side is the client.
//
// The pods and their history are a testpods.Collection's. Objects are encoded by
// apimachinery, once for each round, and kept; the few bytes around them (the
// envelope, the frame) are put there while sending. A watch gets each event of
// a burst as one write and one flush. kube-apiserver flushes only when nothing
// more is waiting, which comes to the same: a pod is larger than the buffers
// of net/http, so that what is flushed has left already. A burst may also be
// asked for in large writes, which a server cannot do but which shows a client
// that waits for nothing. Initial events are flushed at their end.
//
// The server speaks plain HTTP/1.1 and TLS with HTTP/2, at two addresses. The
// path begins with the encoding: what is asked for under /json is answered in
// JSON whatever else the client would take. Nothing is compressed, as the
// network that compression is for is not there.
//
// Under /metadata everybody gets PartialObjectMetadata in protobuf, as clients
// that ask for it do under /protobuf.
//
// Unlike a real server it lets any client in, and has no other resources, no
// selectors and no timeouts. Pods are listed and watched in all namespaces or in
// one.
//
// Control is how a benchmark says what is to happen: see Control. Everything
// is safe for concurrent use.
package replay
