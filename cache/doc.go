// Package cache is a drop-in for k8s.io/client-go/tools/cache: change that one
// import to this one, and a program compiles, behaves, and runs on kinglet.
//
// # What is whose
//
// Interfaces, and the plain types that client-go's interfaces and generated
// code mention, are aliases of client-go's, so that values pass freely to
// generated listers, informer factories and controller-runtime, and back
// (interfaces.go, data.go). Every store, queue, controller, reflector and
// informer behind them is kinglet's, and is a thin adapter over packages
// kinglet, store, source, reflector and fifo.
//
// Some types are this package's own, because client-go's cannot carry what is
// meant: [ListWatch] (it remembers the REST client that it came from),
// [Config], [FIFO], [DeltaFIFO], [RealFIFO] and [ErrRequeue] (which newer
// client-go no longer has), and whatever else has a state of its own.
//
// A [Reflector] is client-go's, since its interfaces name that concrete type
// in the watch error handler. Those made here are a shell around kinglet's
// engine: name, type description and last version are true, and Run runs
// kinglet.
//
// # Keys
//
// Keys are strings here and a [store.Key] below; see keys.go.
package cache
