// Command soak runs kinglet's informers on a real control plane for long, under
// all that goes wrong in a cluster's life, and looks again and again whether
// they still equal the server:
//
//	go run ./e2e/soak                        # 20 minutes; make soak
//	go run ./e2e/soak -for 3m
//
// It exits with 1 if anything is wrong, and says what; with 130 after Ctrl-C.
//
// Residents are informers that run throughout, behind a TCP proxy of the soak's
// own: typed (protobuf, JSON, on a connection of their own) and from the
// drop-in (the fast path, an interceptor, plain closures). Each has handlers that keep a
// history: whether what they are told is a legal one, and what it adds up
// to. A cycle, a minute by default, has at once
//
//   - churn: ConfigMaps created, updated, deleted and replaced in many
//     namespaces, and deployments rolled and scaled, whose pods come and go;
//   - trouble, in random order: connections reset, torn in the midst
//     of a frame, half-open (nothing is forwarded, and nobody told), slow, or
//     refused; the API server killed and started; etcd compacted, with the
//     server up and with the server down, so that every watch has expired;
//   - one handler of each resident stalled;
//   - visitors: informers started and stopped by the hundred.
//
// Then comes a checkpoint: churn rests, and every store must come to equal a
// fresh list by a client that is not kinglet's and does not use the proxy, by
// UID, version and content; and every history must hold the very objects of its
// store. Half-open connections are not mended for it: they have to be noticed.
//
// At the end everything stops. Goroutines, live heap and open files are compared
// with what they were before the first cycle, after a warm-up in which all of it
// ran once.
package main
