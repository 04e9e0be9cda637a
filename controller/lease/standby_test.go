package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"

	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/status"
)

// A replica has stood by for three hours, as it should.
func TestAStandbyIsBrokenFromWhenItsRequestsFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient()
		var failNext atomic.Int32
		var on atomic.Bool
		client.PrependReactor("get", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
			if on.Load() && failNext.Add(-1) >= 0 {
				return true, nil, apierrors.NewInternalError(errors.New("etcd leader changed"))
			}
			return false, nil, nil
		})
		a, b := replica(t, client, "a"), replica(t, client, "b")
		led, err := a.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := controller.New(controller.ReconcilerFunc[string](func(context.Context, string) (controller.Result, error) {
			return controller.Result{}, nil
		}), controller.Options[string]{Name: "c", Elector: b})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		testbubble.Pass(3 * time.Hour)
		failNext.Store(1)
		on.Store(true)
		for range 40 {
			st := c.Status()
			for _, p := range st.Problems(time.Now()) {
				if p.Severity == status.Broken || p.Severity == status.Warning && time.Since(p.Since) > time.Minute {
					t.Errorf("one request has failed: %+v", p)
				}
			}
			testbubble.Pass(time.Second)
		}
		failNext.Store(1000)
		broken := false
		for range 40 {
			st := c.Status()
			for _, p := range st.Problems(time.Now()) {
				broken = broken || p.Severity == status.Broken && time.Since(p.Since) < time.Minute
			}
			testbubble.Pass(time.Second)
		}
		if !broken {
			t.Error("all requests fail, and it is not broken")
		}
		cancel()
		<-ended
		led.Release()
	})
}
