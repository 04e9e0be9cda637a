package controller_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/source"
)

// garbled answers with what nobody can decode.
type garbled struct{}

func (garbled) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: io.NopCloser(strings.NewReader("password=hunter2"))}, nil
}

func TestAGateThatWaitsForSecretsShowsNothingOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, err := source.FromConfig[*corev1.Secret](&rest.Config{Host: "http://server", Transport: garbled{}}, corev1.SchemeGroupVersion.WithResource("secrets"), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		inf, err := kinglet.New(src, kinglet.Options[*corev1.Secret]{OnError: func(error) {}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := controller.New(controller.ReconcilerFunc[kinglet.Key](func(context.Context, kinglet.Key) (controller.Result, error) {
			return controller.Result{}, nil
		}), controller.Options[kinglet.Key]{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := controller.Watch(c, inf, controller.Self); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 2)
		go func() { ended <- inf.Run(ctx) }()
		go func() { ended <- c.Run(ctx) }()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := c.Status(); !strings.Contains(s.GateReason, "has not synced: ") || strings.Contains(s.GateReason, "hunter2") {
			t.Errorf("the gate says %q", s.GateReason)
		}
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
