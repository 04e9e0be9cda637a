package main

import (
	"context"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// In real time: it is a proxy between two real connections.
func TestEachBreakIsNamedByTheInformerThatMeetsIt(t *testing.T) {
	server := apiserver.New(apiserver.NewStorage(apiserver.Pods), apiserver.Options{})
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
	src, err := source.FromConfig[*unstructured.Unstructured](&rest.Config{Host: front.URL}, apiserver.Pods.GroupVersionResource, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[*unstructured.Unstructured]{OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	// Connections through the proxy are real, and so is time: it is asked again and again.
	until := func(what string, is func(p []status.Problem) bool) {
		t.Helper()
		for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			st := inf.Status()
			problems := st.Problems(time.Now())
			if is(problems) {
				return
			}
			if time.Since(began) > 20*time.Second {
				t.Fatalf("not %s, but %+v", what, problems)
			}
		}
	}
	named := func(cause status.Cause) func([]status.Problem) bool {
		return func(all []status.Problem) bool {
			for _, p := range all {
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
	for _, b := range []struct {
		ill   ill
		cause status.Cause
	}{{away, status.CauseUnreachable}, {forbidden, status.CauseForbidden}, {badObject, status.CauseQuarantine}} {
		p.begin(b.ill)
		until(string(b.cause), named(b.cause))
		p.begin(well)
	}
	p.begin(well)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
