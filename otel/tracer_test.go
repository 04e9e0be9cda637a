package otel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/otel"
	"github.com/kinglet-go/kinglet/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTracer returns a tracer whose spans are kept in memory.
func newTracer(t *testing.T) (*otel.Tracer, *trace.TracerProvider, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return otel.New(provider), provider, spans
}

func attributes(s tracetest.SpanStub) map[attribute.Key]string {
	m := map[attribute.Key]string{}
	for _, a := range s.Attributes {
		m[a.Key] = a.Value.String()
	}
	return m
}

// expect checks one span: its name, status, and some of its attributes.
func expect(t *testing.T, s tracetest.SpanStub, name string, code codes.Code, want map[attribute.Key]string) {
	t.Helper()
	got := attributes(s)
	if s.Name != name || s.Status.Code != code || s.EndTime.IsZero() || s.InstrumentationScope.Name != otel.Scope {
		t.Errorf("span %q, status %v, of %q; want %q, %v", s.Name, s.Status, s.InstrumentationScope.Name, name, code)
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("span %q: %s is %q, want %q; all: %v", s.Name, k, got[k], v, got)
		}
	}
}

func TestEachListIsASpanWithItsCauseAndWhatCame(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprint("streamed ", streamed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { listSpans(t, streamed) })
		})
	}
}

func listSpans(t *testing.T, streamed bool) {
	tracer, _, spans := newTracer(t)
	storage := apiserver.NewStorage(apiserver.Pods)
	for i := range 5 {
		if _, err := storage.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("p", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	refused, away := true, false
	var mu sync.Mutex
	server := apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case away:
			return &apiserver.Fault{Refuse: true}
		case !refused:
			return nil
		}
		refused = false
		return &apiserver.Fault{Answer: apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("not you"))}
	}})
	defer server.Close()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	src, err := source.FromREST[*corev1.Pod](client.CoreV1().RESTClient(), "pods", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{
		Name: "pods", Tracer: tracer, DisableWatchList: !streamed, PageSize: 2, OnError: func(error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- inf.Run(ctx) }()
	testclock.Elapse(time.Minute)
	got := spans.GetSpans()
	if len(got) != 2 {
		t.Fatalf("%d spans: %+v", len(got), got)
	}
	base := map[attribute.Key]string{otel.Informer: "pods", otel.ListCause: "start", otel.ListStreamed: fmt.Sprint(streamed)}
	with := func(more ...string) map[attribute.Key]string {
		m := map[attribute.Key]string{}
		for k, v := range base {
			m[k] = v
		}
		for i := 0; i < len(more); i += 2 {
			m[attribute.Key(more[i])] = more[i+1]
		}
		return m
	}
	expect(t, got[0], "list pods", codes.Error, with(string(otel.ErrorType), "forbidden", string(otel.ListObjects), "0", string(otel.ResourceVersion), ""))
	pages := "1" // a server answers from its cache in one
	if streamed {
		pages = "0"
	}
	expect(t, got[1], "list pods", codes.Unset, with(string(otel.ErrorType), "", string(otel.ListObjects), "5", string(otel.ListPages), pages))
	if a := attributes(got[1]); a[otel.ListBytes] == "0" || a[otel.ResourceVersion] == "" {
		t.Errorf("bytes and version: %v", a)
	}
	// A history that is gone leads to a relist.
	spans.Reset()
	setAway := func(is bool) {
		mu.Lock()
		defer mu.Unlock()
		away = is
	}
	setAway(true)
	server.Disconnect()
	for i := range 3 {
		if _, err := storage.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("later", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	storage.Compact(storage.Revision())
	setAway(false)
	testclock.Elapse(time.Minute)
	got = spans.GetSpans()
	if len(got) == 0 {
		t.Fatal("no relist")
	}
	base[otel.ListCause] = "expired"
	expect(t, got[len(got)-1], "relist pods", codes.Unset, with(string(otel.ListObjects), "8"))
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func TestEachRunIsASpanAndTheReconcilersSpansAreBelowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracer, provider, spans := newTracer(t)
		const never = 10_000 * time.Hour // even where jitter makes the first wait short
		c, err := controller.New(controller.ReconcilerFunc[kinglet.Key](func(ctx context.Context, k kinglet.Key) (controller.Result, error) {
			_, below := provider.Tracer("mine").Start(ctx, "below")
			defer below.End()
			testclock.Pass(time.Second)
			switch k.Name {
			case "panics":
				panic("oh no")
			case "slow":
				<-ctx.Done()
				return controller.Result{}, ctx.Err()
			case "fails":
				return controller.Result{}, errors.New("it is so")
			}
			return controller.Result{}, nil
		}), controller.Options[kinglet.Key]{
			Name: "rollouts", Tracer: tracer, Timeout: 10 * time.Second, OnError: func(error) {}, Backoff: controller.Backoff{Base: never, Max: never},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"well", "panics", "slow", "fails"} {
			if err := c.Add(kinglet.Key{Namespace: "ns", Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- c.Run(ctx) }()
		testclock.Elapse(20 * time.Second)
		got := spans.GetSpans()
		kinds := map[string]string{"ns/well": "", "ns/panics": "panic", "ns/slow": "timeout", "ns/fails": "error"}
		parents := map[oteltrace.SpanID]bool{}
		for _, s := range got {
			if s.Name == "below" {
				parents[s.Parent.SpanID()] = true
			}
		}
		runs := slices.DeleteFunc(got, func(s tracetest.SpanStub) bool { return s.Name == "below" })
		if len(runs) != 4 || len(parents) != 4 {
			t.Fatalf("%d runs and %d parents: %+v", len(runs), len(parents), got)
		}
		for i, s := range runs {
			a := attributes(s)
			kind, known := kinds[a[otel.ReconcileKey]]
			code := codes.Error
			if kind == "" {
				code = codes.Unset
			}
			expect(t, s, "reconcile rollouts", code, map[attribute.Key]string{
				otel.Controller: "rollouts", otel.ErrorType: kind, otel.ReconcileCause: "add", otel.ReconcileFailures: "0",
			})
			if !known || !parents[s.SpanContext.SpanID()] {
				t.Errorf("span %d: %v, with a span below it: %v", i, a, parents[s.SpanContext.SpanID()])
			}
			if wait := a[otel.ReconcileWait]; i > 0 && wait == "0" {
				t.Errorf("span %d: its key waited for %s s", i, wait)
			}
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// With no spans wanted, a tracer makes none of its own.
func TestWithoutAProviderThereAreNoSpans(t *testing.T) {
	tracer := otel.New(nil)
	ctx := tracer.RunBegins(t.Context(), controller.RunInfo{Controller: "c", Key: "k"})
	if oteltrace.SpanFromContext(ctx).IsRecording() {
		t.Error("it records")
	}
	tracer.RunEnds(ctx, controller.RunInfo{}, controller.RunResult{Err: errors.New("no")})
}
