package main

import (
	"context"
	"io"
	"net/http/httptest"
	"net/url"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In real time: it is a proxy between two real connections.
func TestEachBreakIsNamedByTheInformerThatMeetsIt(t *testing.T) {
	storage := apiserver.NewStorage(apiserver.Pods)
	server := apiserver.New(storage, apiserver.Options{})
	defer server.Close()
	config := server.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{base: base, transport: transport}
	p.begin(well)
	front := httptest.NewServer(p)
	defer front.Close()
	printed, toPrint := io.Pipe()
	printing := make(chan error)
	go func() { printing <- p.print(io.Discard, printed) }()
	src, err := source.FromConfig[*unstructured.Unstructured](&rest.Config{Host: front.URL}, apiserver.Pods.GroupVersionResource, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[*unstructured.Unstructured]{OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = inf.AddHandler(kinglet.HandlerFunc[*unstructured.Unstructured](func(_ context.Context, changes []store.Change[*unstructured.Unstructured]) {
		for range changes {
			_, _ = io.WriteString(toPrint, "a change\n")
		}
	}), kinglet.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	// Connections through the proxy are real, so time is too, and the status is polled.
	until := func(what string, is func(st *kinglet.Status) bool) {
		t.Helper()
		var st kinglet.Status
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			st = inf.Status()
			return is(&st), nil
		})
		if err != nil {
			t.Fatalf("not %s, but %+v", what, st.Problems(time.Now()))
		}
	}
	named := func(cause status.Cause) func(*kinglet.Status) bool {
		return func(st *kinglet.Status) bool {
			for _, p := range st.Problems(time.Now()) {
				if p.Cause == cause && p.Severity >= status.Warning {
					return true
				}
			}
			return false
		}
	}
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	written := 0
	write := func() {
		t.Helper()
		written++
		if _, err := storage.Create(testpods.New("p"+strconv.Itoa(written), "n1")); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []struct {
		ill   ill
		cause status.Cause
	}{{away, status.CauseUnreachable}, {forbidden, status.CauseForbidden}, {badObject, status.CauseQuarantine}} {
		p.begin(b.ill)
		isNamed := named(b.cause)
		until(string(b.cause), func(st *kinglet.Status) bool {
			write() // of a connection that ends just now the last object may still come
			return isNamed(st)
		})
		p.begin(well)
	}
	// One print can be read before it is seen that nothing is to be.
	p.begin(stalled)
	for range 3 {
		write()
	}
	stands := named(status.CauseHandlerStalled)
	until("stalled", stands)
	p.begin(well)
	until("handled", func(st *kinglet.Status) bool {
		return !stands(st) && st.Objects+st.Quarantined == written && st.Handlers[0].Pending == 0
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	toPrint.Close()
	if err := <-printing; err != nil {
		t.Error(err)
	}
}
