// Package proflabel labels goroutines for runtime/pprof, so that a profile of CPU or of
// goroutines shows the informer, handler or controller of each sample. Each function is
// called once for a goroutine, which keeps the labels until it ends; goroutines that it
// starts inherit them. Contexts carry the labels as well, for programs that add their own
// with pprof.Do.
//
// It is called at the start of goroutines of packages kinglet, deliver, consistency and
// controller, and imports no package of kinglet.
package proflabel

import (
	"context"
	"runtime/pprof"
)

// The stages of an informer.
const (
	// Reflector lists, watches, decodes, and writes the store.
	Reflector = "reflector"
	// Mutation looks for writes into objects.
	Mutation = "mutation"
	// Consistency compares the store with the server.
	Consistency = "consistency"
	handler     = "handler"
)

// Informer returns ctx with the informer's name. It labels no goroutine.
func Informer(ctx context.Context, name string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels("kinglet.informer", name))
}

// Stage labels the calling goroutine with the labels of ctx and a stage, and returns the
// context that has both.
func Stage(ctx context.Context, stage string) context.Context {
	return set(ctx, pprof.Labels("kinglet.stage", stage))
}

// Handler labels the calling goroutine with the labels of ctx and a handler's name.
func Handler(ctx context.Context, name string) context.Context {
	return set(ctx, pprof.Labels("kinglet.stage", handler, "kinglet.handler", name))
}

// Controller returns ctx with the controller's name. It labels no goroutine.
func Controller(ctx context.Context, name string) context.Context {
	return pprof.WithLabels(ctx, pprof.Labels("kinglet.controller", name))
}

// Restore labels the calling goroutine with the labels of ctx alone.
func Restore(ctx context.Context) { pprof.SetGoroutineLabels(ctx) }

func set(ctx context.Context, labels pprof.LabelSet) context.Context {
	ctx = pprof.WithLabels(ctx, labels)
	pprof.SetGoroutineLabels(ctx)
	return ctx
}
