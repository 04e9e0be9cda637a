package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// serveHere serves until the test ends.
func serveHere(t *testing.T, opts pods.Options) *replay.Server {
	t.Helper()
	c, err := pods.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	s, err := replay.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestEveryRowIsMeasuredWithBothEnginesAndTheStoresEqualTheServer runs the
// jobs of all rows, with few pods; in JSON with fewer, which takes client-go
// five milliseconds each under the race detector.
func TestEveryRowIsMeasuredWithBothEnginesAndTheStoresEqualTheServer(t *testing.T) {
	t.Parallel()
	// At the same time, each on a server of its own, since most of the time
	// goes into waiting for relists, which are in the first rows of each
	// encoding. What is measured of the process is nobody's then, and only has
	// to be there.
	for _, r := range rows(sizes{main: 50, middle: 40, small: 20, large: 60}) {
		if s := &r.setup; s.Encoding == replay.JSON {
			s.Pods.Pods, s.Pods.Templates = 10, min(s.Pods.Templates, 10)
		}
		for _, engine := range []string{clientGo, kinglets, drain} {
			if engine == drain && !r.drain {
				continue
			}
			t.Run(r.name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				measureHere(t, &r, engine)
			})
		}
	}
}

// measureHere measures a row with one engine.
func measureHere(t *testing.T, r *row, engine string) {
	s := serveHere(t, r.setup.Pods)
	control := replay.Control{Endpoint: s.Endpoint()}
	prepared, err := control.Prepare(t.Context(), r.setup.Encoding, 0)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{Setup: r.setup, Engine: engine, Endpoint: s.Endpoint(), Prepared: prepared, Check: true}
	if engine == drain {
		f, err := measureDrain(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if f[burstRate] <= 0 || f[syncWall] <= 0 {
			t.Errorf("reading alone is %v", f)
		}
		return
	}
	f, err := measure(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if int(f[checked]) != r.setup.Pods.Pods {
		t.Errorf("%v objects were found equal", f[checked])
	}
	for want := range r.targets {
		if _, ok := f[want]; !ok {
			t.Errorf("%s was not measured", want)
		}
	}
}

// TestAStoreThatIsNotAsTheServerHasItIsAnError moves the server on behind an
// informer's back: with a forced relist that nobody waits for.
func TestAStoreThatIsNotAsTheServerHasItIsAnError(t *testing.T) {
	s := serveHere(t, pods.Options{Pods: 50})
	j := &job{
		Setup:    setup{Pods: pods.Options{Pods: 50}, Encoding: replay.Protobuf, Transport: http1, Form: typed, Shape: whole, Handlers: 1},
		Endpoint: s.Endpoint(),
	}
	for _, engine := range []string{clientGo, kinglets} {
		a := newAudience(1)
		all := a.expect("", 50)
		inf, err := engines[engine](t.Context(), &j.Setup, config(&j.Setup, j.Endpoint), a)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.wait(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if n, err := compare(t.Context(), j, inf); n != 50 || err != nil {
			t.Errorf("%s: %d are equal, %v", engine, n, err)
		}
		inf.stop()
		control := replay.Control{Endpoint: s.Endpoint()}
		if _, err := control.Burst(t.Context(), replay.Protobuf, 1, false); err != nil {
			t.Fatal(err)
		}
		if n, err := compare(t.Context(), j, inf); err == nil || !strings.Contains(err.Error(), "not as the server has it") {
			t.Errorf("%s: a store that has missed an event passes, %d objects, %v", engine, n, err)
		}
		if err := control.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnAudienceWaitsForTheLastListener counts by hand.
func TestAnAudienceWaitsForTheLastListener(t *testing.T) {
	a := newAudience(2)
	over := func(g *goal) bool {
		select {
		case <-g.reached:
			return true
		default:
			return false
		}
	}
	first := a.expect("", 2)
	for i := range 2 {
		for _, l := range a.listeners {
			if over(first) {
				t.Fatalf("over after %d rounds", i)
			}
			l.heard(fmt.Sprint(5 + i))
		}
	}
	if !over(first) || a.told() != 4 {
		t.Fatalf("not over after 4 calls: %d", a.told())
	}
	second := a.expect("7", 1)
	for _, v := range []string{"6", "7", "8"} {
		a.listeners[0].heard(v)
	}
	a.listeners[1].heard("7")
	if over(second) {
		t.Fatal("over, and a listener has heard of nothing that counts")
	}
	a.listeners[1].heard("9")
	if !over(second) {
		t.Fatal("not over")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.failed(errDeleted)
	if err := a.wait(ctx, a.expect("", 1)); err == nil || !strings.Contains(err.Error(), errDeleted.Error()) {
		t.Errorf("a wait that fails says %v", err)
	}
}
