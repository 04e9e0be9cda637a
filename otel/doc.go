// Package otel makes OpenTelemetry spans of what informers and controllers do:
//
//	tracer := otel.New(provider) // a trace.TracerProvider; nil is the global one
//	pods, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{Tracer: tracer})
//	c, err := controller.New(r, controller.Options[kinglet.Key]{Tracer: tracer})
//
// There is one span for each
//
//   - list, named "list" and the informer's name: the first one, in pages or streamed,
//   - relist, named "relist" and the informer's name: each later one, with its cause,
//   - reconcile, named "reconcile" and the controller's name: one run of one key.
//
// A span's context is passed to its requests, or to the Reconciler, so the spans of an
// instrumented HTTP transport are its children. A span that failed has the status
// Error, the error's text, and error.type: one of the fixed names of status.Cause for a
// list, "panic", "timeout" or "error" for a run. The attributes are the constants of this
// package. There are no spans of watches, which last for minutes and begin again: what
// ended one is the cause of the relist that follows, if one does.
//
// It needs OpenTelemetry's API alone. With a provider that samples nothing a list or a
// run costs some hundred nanoseconds more; without a Tracer, a nil check.
package otel
