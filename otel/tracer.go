package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// Scope is the name of the instrumentation scope of all spans.
const Scope = "github.com/kinglet-go/kinglet/otel"

// Attributes of lists and relists.
const (
	// Informer is the informer's name.
	Informer = attribute.Key("kinglet.informer")
	// ListCause is why the list was asked for: a reflector.ListCause.
	ListCause = attribute.Key("kinglet.list.cause")
	// ListStreamed is whether it is a watch-list.
	ListStreamed = attribute.Key("kinglet.list.streamed")
	// ListPages is how many pages came, ListObjects how many objects, ListBytes how
	// many bytes, as far as the source knows.
	ListPages   = attribute.Key("kinglet.list.pages")
	ListObjects = attribute.Key("kinglet.list.objects")
	ListBytes   = attribute.Key("kinglet.list.bytes")
	// ResourceVersion is the list's. A list that was not published has none.
	ResourceVersion = attribute.Key("kinglet.resource_version")
)

// Attributes of reconciles.
const (
	// Controller is the controller's name, ReconcileKey the key as fmt prints it.
	Controller   = attribute.Key("kinglet.controller")
	ReconcileKey = attribute.Key("kinglet.reconcile.key")
	// ReconcileCause is what asked for the run, as in controller.KeyStatus.
	ReconcileCause = attribute.Key("kinglet.reconcile.cause")
	// ReconcileWait is how many seconds the key was queued.
	ReconcileWait = attribute.Key("kinglet.reconcile.wait")
	// ReconcileFailures is how often the key had failed in a row before the run.
	ReconcileFailures = attribute.Key("kinglet.reconcile.failures")
)

// ErrorType is error.type of OpenTelemetry's conventions.
const ErrorType = attribute.Key("error.type")

// Tracer makes spans for any number of informers and controllers. Make one with New. It
// is safe for concurrent use, as far as its provider is.
type Tracer struct{ tracer trace.Tracer }

var (
	_ kinglet.Tracer    = (*Tracer)(nil)
	_ controller.Tracer = (*Tracer)(nil)
)

// New returns a Tracer that uses provider, or the global one if provider is nil.
func New(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return &Tracer{provider.Tracer(Scope)}
}

// ListBegins implements kinglet.Tracer.
func (t *Tracer) ListBegins(ctx context.Context, l reflector.ListInfo) context.Context {
	name := "relist "
	if l.First {
		name = "list "
	}
	ctx, _ = t.tracer.Start(ctx, name+l.Name, trace.WithAttributes(
		Informer.String(l.Name), ListCause.String(l.Cause.String()), ListStreamed.Bool(l.Streamed),
	))
	return ctx
}

// ListEnds implements kinglet.Tracer.
func (t *Tracer) ListEnds(ctx context.Context, _ reflector.ListInfo, r reflector.ListResult) {
	span := trace.SpanFromContext(ctx)
	defer span.End()
	span.SetAttributes(ListPages.Int(r.Pages), ListObjects.Int64(r.Objects), ListBytes.Int64(r.Bytes))
	if r.ResourceVersion != "" {
		span.SetAttributes(ResourceVersion.String(r.ResourceVersion))
	}
	if r.Err != nil {
		failed(span, string(status.CauseOf(r.Err)), r.Err.Error())
	}
}

// WatchBegins implements kinglet.Tracer. It begins no span.
func (t *Tracer) WatchBegins(ctx context.Context, _ reflector.WatchInfo) context.Context { return ctx }

// WatchEnds implements kinglet.Tracer.
func (t *Tracer) WatchEnds(context.Context, reflector.WatchInfo, reflector.WatchResult) {}

// PhaseChanges implements kinglet.Tracer.
func (t *Tracer) PhaseChanges(string, reflector.Transition) {}

// RunBegins implements controller.Tracer.
func (t *Tracer) RunBegins(ctx context.Context, r controller.RunInfo) context.Context {
	ctx, _ = t.tracer.Start(ctx, "reconcile "+r.Controller, trace.WithAttributes(
		Controller.String(r.Controller), ReconcileKey.String(r.Key), ReconcileCause.String(r.Cause),
		ReconcileWait.Float64(r.Waited.Seconds()), ReconcileFailures.Int(r.Failures),
	))
	return ctx
}

// RunEnds implements controller.Tracer.
func (t *Tracer) RunEnds(ctx context.Context, _ controller.RunInfo, r controller.RunResult) {
	span := trace.SpanFromContext(ctx)
	defer span.End()
	if r.Err == nil {
		return
	}
	kind := "error"
	var panicked *controller.PanicError
	switch {
	case errors.As(r.Err, &panicked):
		kind = "panic"
	case errors.Is(r.Err, controller.ErrTimeout), errors.Is(r.Err, context.DeadlineExceeded):
		kind = "timeout"
	}
	failed(span, kind, r.Err.Error())
}

// failed gives a span the status Error.
func failed(span trace.Span, kind, text string) {
	span.SetAttributes(ErrorType.String(kind))
	span.SetStatus(codes.Error, text)
}
